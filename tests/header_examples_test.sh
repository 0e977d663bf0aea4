#!/usr/bin/env bash
# The example at the top of each public header compiles in a main(), with that header, <iostream> and nothing else.
# header_examples_test.sh SOURCE COMPILER ORT_INCLUDE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
checked=0
for header in "$1"/include/precast/*.hpp; do
  name=$(basename "$header" .hpp)
  example=$(sed -n '/^#pragma once/q; s|^//   ||p' "$header")
  [ -n "$example" ] || continue
  printf '#include <precast/%s.hpp>\n#include <iostream>\nint main() {\n%s\nreturn 0;\n}\n' "$name" "$example" \
    >"$folder/$name.cpp"
  "$2" -std=c++23 -fsyntax-only -DORT_API_MANUAL_INIT -I"$1/include" -isystem "$3" "$folder/$name.cpp" ||
    { echo "the example of $name.hpp does not compile"; exit 1; }
  checked=$((checked + 1))
done
[ "$checked" -ge 9 ] || { echo "only $checked headers have an example"; exit 1; }
echo "$checked examples compile"
