#!/usr/bin/env bash
# Reports are what docs/perf-report.schema.json says, and the schema is strict: a field that is missing, unknown or of
# another type is noticed wherever it stands. perf_schema_test.sh SOURCE SAMPLE_REPORTS_PROGRAM
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$2" "$work"
"$1/tools/check-report" "$work"/*.json
/usr/bin/python3 - "$1/docs/perf-report.schema.json" "$work" <<'PYTHON'
import copy, glob, json, sys
import jsonschema

validator = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))

def objects(value, path=()):
    if isinstance(value, dict):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from objects(inner, path + (key,))

# Their keys are anybody's.
OPEN = ("ep_options", "session_options", "provider_nodes")

def at(value, path):
    for key in path:
        value = value[key]
    return value

reports = sorted(glob.glob(sys.argv[2] + "/*.json"))
checked, accepted = 0, []
for name in reports:
    report = json.load(open(name))
    for path in objects(report):
        if path and path[-1] in OPEN:
            continue
        for key in [*at(report, path), None]:
            changes = [("without", lambda there: there.pop(key)), ("with a list as", lambda there: there.update({key: [[[]]]}))]
            if key is None:
                changes = [("with", lambda there: there.update(made_up=1))]
            for what, change in changes:
                changed = copy.deepcopy(report)
                change(at(changed, path))
                checked += 1
                if validator.is_valid(changed):
                    accepted.append(f"{what} {'.'.join(map(str, path + (key or 'made_up',)))}")
if accepted or len(reports) < 2 or checked < 500:
    sys.exit(f"of {checked} changes these were accepted: {accepted}")
print(f"{len(reports)} reports are as the schema says; {checked} changes to them are not")
PYTHON
