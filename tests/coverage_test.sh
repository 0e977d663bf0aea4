#!/usr/bin/env bash
# Every test that the last column of docs/spec-coverage.md names (in backticks) exists: layer.Suite.Name, with the suite
# as TEST writes it, or the name of an add_test. A * at the end stands for any ending.
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
table=docs/spec-coverage.md

tests() {
  find tests tools -name '*_test.cpp' -print0 | xargs -0 grep -HoE '^TEST(_F|_P)?\([A-Za-z0-9_]+, [A-Za-z0-9_]+\)' |
    sed -E 's|^.*/([a-z_]+)/[a-z_]+\.cpp:TEST(_F\|_P)?\(([A-Za-z0-9_]+), ([A-Za-z0-9_]+)\)|\1.\3.\4|'
  sed -nE 's/^ *add_test\(NAME ([a-z_]+) .*/\1/p' tests/CMakeLists.txt
}
named() {
  sed -nE 's/^\|[^|]*\|(.*)\|$/\1/p' "$table" | grep -oE '`[^`]+`' | tr -d '`' | sort -u
}

awk -v table="$table" '
  NR == FNR { tests[$0] = 1; next }
  { checked++ }
  $0 in tests { next }
  /\*$/ {
    start = substr($0, 1, length($0) - 1)
    for (test in tests) if (index(test, start) == 1) next
  }
  { print table " names " $0 ", which is no test"; bad = 1 }
  END {
    if (checked < 100) { print "only " checked + 0 " tests are named in " table ": is it the table?"; exit 1 }
    if (!bad) print checked " names of " table " are tests"
    exit bad
  }' <(tests) <(named)
