#!/usr/bin/env bash
# -DONNXRUNTIME_ROOT= takes an unpacked ONNX Runtime release instead of .deps, and says what is wrong with one that is
# none. Usage: own_ort_test.sh SOURCE DEPS PRECAST
set -euo pipefail
source=$1
deps=$2
precast=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/release/lib"
cp -r "$deps/ort/include" "$folder/release/include"
cp -P "$deps"/ort/lib/libonnxruntime.so* "$folder/release/lib/"

configure() {
  cmake -S "$source" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" > "$folder/log" 2>&1
}

configure -DONNXRUNTIME_ROOT="$folder/release" || { cat "$folder/log"; exit 1; }
grep -q "$folder/release/include" "$folder/build/compile_commands.json" ||
  { echo "the release's headers are not used"; exit 1; }
if grep -q -- "-isystem $deps/ort/include" "$folder/build/compile_commands.json"; then
  echo "the headers of .deps are still used"
  exit 1
fi
mkdir -p "$folder/build/bin"
cp "$precast" "$folder/build/bin/precast"
found=$("$folder/build/bin/precast" --version)
grep -q "$folder/release/lib/libonnxruntime.so" <<< "$found" || { echo "it runs on another ORT: $found"; exit 1; }

mkdir "$folder/empty"
rm -rf "$folder/build"
if configure -DONNXRUNTIME_ROOT="$folder/empty"; then
  echo "a folder without ONNX Runtime was accepted"
  exit 1
fi
grep -q "$folder/empty" "$folder/log" || { echo "the error does not name the folder:"; cat "$folder/log"; exit 1; }
echo "ONNXRUNTIME_ROOT: a release is used, and what is none is refused"
