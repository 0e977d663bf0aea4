#!/usr/bin/env bash
# Every test that the last column of docs/spec-coverage.md names (in backticks) exists: layer.Suite.Name, with the suite
# as TEST writes it, or the name of an add_test. A * at the end stands for any ending.
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
table=docs/spec-coverage.md

tests=$(
  find tests tools -name '*_test.cpp' | while read -r file; do
    layer=$(basename "$(dirname "$file")")
    sed -nE "s/^TEST(_F|_P)?\(([A-Za-z0-9_]+), ([A-Za-z0-9_]+)\).*/$layer.\2.\3/p" "$file"
  done
  sed -nE 's/^ *add_test\(NAME ([a-z_]+) .*/\1/p' tests/CMakeLists.txt
)

bad=0
checked=0
while read -r name; do
  checked=$((checked + 1))
  if [[ $name == *'*' ]]; then
    found=$(awk -v start="${name%\*}" 'index($0, start) == 1 { n++ } END { print n + 0 }' <<<"$tests")
  else
    found=$(grep -cxF -- "$name" <<<"$tests" || true)
  fi
  [ "$found" -gt 0 ] || { echo "$table names $name, which is no test"; bad=1; }
done < <(sed -nE 's/^\|[^|]*\|(.*)\|$/\1/p' "$table" | grep -oE '`[^`]+`' | tr -d '`' | sort -u)

[ "$checked" -ge 100 ] || { echo "only $checked tests are named in $table: this test looks in the wrong place"; exit 1; }
[ "$bad" = 0 ] && echo "$checked names of $table are tests"
exit "$bad"
