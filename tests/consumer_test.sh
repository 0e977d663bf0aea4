#!/usr/bin/env bash
# The installed package serves a program of somebody else's: configured, built and run against nothing but the prefix,
# which may be moved. Usage: consumer_test.sh SOURCE BUILD DEPS
set -euo pipefail
source=$1
build=$2
deps=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "consumer: $1"; shift; for log in "$@"; do cat "$log"; done; exit 1; }

cmake --install "$build" --strip --prefix "$folder/first" > "$folder/log" 2>&1 || fail "not installed" "$folder/log"
mv "$folder/first" "$folder/prefix"
if cmake -S "$source/tests/consumer" -B "$folder/none" -G Ninja "-DCMAKE_PREFIX_PATH=$folder/prefix" \
  > "$folder/log" 2>&1; then fail "configured without ORT's headers"; fi
grep -q ONNXRUNTIME_ROOT "$folder/log" || fail "it does not say what is missing" "$folder/log"
cmake -S "$source/tests/consumer" -B "$folder/build" -G Ninja "-DCMAKE_PREFIX_PATH=$folder/prefix" \
  "-DONNXRUNTIME_ROOT=$deps/ort" > "$folder/log" 2>&1 || fail "not configured" "$folder/log"
cmake --build "$folder/build" > "$folder/log" 2>&1 || fail "not built" "$folder/log"

"$build/bin/precast-make-model" tiny --output "$folder/tiny.onnx" > "$folder/log" 2>&1 || fail "no model" "$folder/log"
run() {
  env -u PRECAST_WORKER -u PRECAST_CACHE_DIR ORT_DISABLE_TELEMETRY=1 LD_LIBRARY_PATH="$folder/prefix/lib" \
    "$folder/build/consumer" "$folder/tiny.onnx" "$(readlink -f "$deps/ort/lib/libonnxruntime.so.1")" \
    "$build/fake_ep/libprecast_fake_ep.so" "$folder/store" 2>&1
}
first=$(run) || fail "the first run: $first"
second=$(run) || fail "the second run: $second"
[ "$first" = "compiled 8" ] || fail "the first run said: $first"
[ "$second" = "hit 8" ] || fail "the second run said: $second"
ldd "$folder/prefix/lib/libprecast.so" | grep -q onnxruntime && fail "libprecast.so is linked against an ORT"
[ "$("$folder/prefix/bin/precast" --version | head -1)" = "precast 0.1.0" ] || fail "the installed program does not run"
echo "consumer: $first, then $second"
