"""What html_page_test.sh does with each page: html_page_test.py PROBE WORK SCREENSHOTS."""

import base64
import hashlib
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DEADLINE_S = 180
MODEL = ["latency", "distribution", "warmup", "phases"]
COMPARISON = ["medians", "ratios", "latency"]
BUNDLE = ["timeline", "tokens", "distribution", "latency", "phases"]
# The charts that each page is to have, in order.
PAGES = {
    "model": MODEL,
    "traced": MODEL + ["callers", "operators"],
    "comparison": COMPARISON,
    "bundle": BUNDLE,
    "bundle_bare": ["latency"],
    "one_sample": ["latency", "warmup", "phases"],
    "void": [],
    "nothing": [],
    "not_finite": MODEL,
    "huge": MODEL,
    "hostile": COMPARISON,
}
# Looked at by people, and each an opening of the page as it is: its console must stay silent.
SCREENSHOTS = [(name, "light", "1200,2400") for name in PAGES] + [
    (name, "dark", "500,3400") for name in ("model", "comparison", "bundle", "hostile")
]

probe_file, work, screenshots = map(pathlib.Path, sys.argv[1:])
probe = probe_file.read_text()
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def without_network():
    """A namespace with no network at all, where the machine lets us make one; the resolver is shut in any case."""
    wrap = ["unshare", "--map-root-user", "--net"]
    allowed = subprocess.run([*wrap, "true"], capture_output=True, check=False).returncode == 0
    return wrap if allowed else []


def browse(page, *arguments, scheme="light"):
    """The document as it is in the end, and what the console said."""
    profile = tempfile.mkdtemp(dir=work)
    command = [
        *WRAP, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
        "--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
        f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}", "--virtual-time-budget=10000",
        *arguments, page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=False)
    shutil.rmtree(profile, ignore_errors=True)
    # "...:CONSOLE:7] "message", source: file:///... (7)"; the browser's own pages, chrome://..., have much to say.
    messages = re.findall(r':CONSOLE[^"]*"(.*?)", source: (\S*)', done.stderr.decode(errors="replace"), re.DOTALL)
    return done.stdout.decode(errors="replace"), [text for text, source in messages if not source.startswith("chrome")]


def probed(page, change=lambda text: text):
    """The answer of the probe in a copy of the page whose policy lets the probe run as well."""
    text = change(page.read_text())
    allowed = base64.b64encode(hashlib.sha256(probe.encode()).digest()).decode()
    text = text.replace("script-src ", f"script-src 'sha256-{allowed}' ", 1)
    text = text.replace("</title>", f"</title><script>{probe}</script>", 1)
    copy = work / f"probed_{page.name}"
    copy.write_text(text)
    document, said = browse(copy, "--dump-dom", "--window-size=1200,1600")
    found = re.search(r'<html[^>]*? data-probe="([^"]*)"', document)
    answer = json.loads(html.unescape(found.group(1))) if found else {"wrong": ["the probe did not answer"]}
    return answer, said


def check_page(name, charts):
    answer, said = probed(work / "pages" / f"{name}.html")
    check(not answer["wrong"], f"{name}: {answer['wrong']}")
    check(not said, f"{name}: the console says {said}")
    if "charts" not in answer:
        return None
    check(list(answer["charts"]) == charts, f"{name} has the charts {list(answer['charts'])}, not {charts}")
    for chart, seen in answer["charts"].items():
        where = f"{name}, chart {chart}"
        check(seen["canvases"] == 1, f"{where}: {seen['canvases']} canvases")
        check(seen.get("coloured", 0) >= 20, f"{where}: nothing is drawn: {seen.get('coloured')} of {seen.get('any')} pixels")
        check(0.85 < seen["share"] <= 1, f"{where}: {seen['share']} as wide as its card")
        for place in ("first", "middle"):
            check(seen[place] != seen["before"] and re.search(r"\d", seen[place]), f"{where}: no value under the mouse: {seen[place]}")
    check(answer["loaded"] == [], f"{name} loads {answer['loaded']}")
    check(answer["images"] == 0 and answer["scripts"] == 5, f"{name}: elements came out of the report")
    check(answer["overflow"] <= 0, f"{name} is {answer['overflow']} pixels too wide")
    return answer


def check_words(answers):
    model, comparison, bundle, huge, hostile = (answers[name] for name in ("model", "comparison", "bundle", "huge", "hostile"))
    first = model["report"]["raw_samples_ms"][0]
    latency = model["charts"]["latency"]["first"]
    check(f"{first:g} ms" in latency, f"the first sample, {first} ms, is not what the mouse reads: {latency}")
    phase = model["charts"]["phases"]["first"]
    check("load ONNX Runtime" in phase and "15.25 ms" in phase, f"the first phase is not what the mouse reads: {phase}")
    fastest = comparison["charts"]["medians"]["first"]
    check("cpu" in fastest and "8.276 ms" in fastest, f"the first target is not what the mouse reads: {fastest}")
    ratio = comparison["charts"]["ratios"]["first"]
    check("0.668" in ratio and "0.661" in ratio and "0.674" in ratio, f"the first ratio is not what the mouse reads: {ratio}")
    check("180 ms" in bundle["charts"]["timeline"]["first"], f"the first prefill is not what the mouse reads: {bundle['charts']['timeline']['first']}")
    check("1,000,000" in huge["charts"]["latency"]["note"], f"thinning is not told: {huge['charts']['latency']['note']}")
    check(hostile["heading"].startswith("</script><script>") and "\u2028" in hostile["heading"], f"a name is not shown as it is: {hostile['heading']}")
    check(hostile["title"].startswith("</script><script>"), f"the title is {hostile['title']}")
    for name, least in (("model", 1), ("comparison", 2), ("bundle", 2)):
        check(answers[name]["tables"] >= least and answers[name]["facts"] > 0, f"{name}: tables are missing")


def check_the_checks():
    """A page that throws, one that draws nothing, one that loads something and one that talks are told from a good one."""
    page = work / "pages" / "model.html"
    end = "\nbuild();\n"
    text = page.read_text()
    check(end in text, "the page's script does not end as this test thinks")

    def changed(name, old, new):
        bad = work / f"{name}.html"
        assert old in text, old
        bad.write_text(re.sub("script-src [^;]*", "script-src 'unsafe-inline'", text.replace(old, new, 1), count=1))
        return browse(bad, "--dump-dom")[1]

    check(changed("throws", end, "\nthrow new Error('on purpose');\n"), "an exception was not noticed")
    check(changed("talks", end, "\nbuild();console.error('on purpose');\n"), "a message on the console was not noticed")
    check(changed("loads", "<main", '<img src="https://precast.invalid/x.png"><main'), "loading an image was not noticed")
    hashed = browse(rewrite(text, "unhashed", end, "\nbuild(); \n"), "--dump-dom")[1]
    check(hashed, "a script that is not precast's was run")


def rewrite(text, name, old, new):
    path = work / f"{name}.html"
    path.write_text(text.replace(old, new, 1))
    return path


def take_screenshots():
    for name, scheme, size in SCREENSHOTS:
        picture = screenshots / f"{name}_{scheme}_{size.split(',')[0]}.png"
        picture.unlink(missing_ok=True)
        _, said = browse(work / "pages" / f"{name}.html", f"--screenshot={picture}", f"--window-size={size}", scheme=scheme)
        check(not said, f"{name}, {scheme}: the console says {said}")
        check(picture.exists() and picture.stat().st_size > 5000, f"{name}, {scheme}: no screenshot")


WRAP = without_network()
answers = {name: check_page(name, charts) for name, charts in PAGES.items()}
if all(answers.values()):
    check_words(answers)
check_the_checks()
take_screenshots()
if failures:
    sys.exit("\n".join(failures))
drawn = sum(len(charts) for charts in PAGES.values())
print(f"{len(PAGES)} pages, {drawn} charts drawn and read; screenshots in {screenshots}" + ("" if WRAP else " (the network was only shut by the resolver)"))
