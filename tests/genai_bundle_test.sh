#!/usr/bin/env bash
# The maker of bundles: the same options make the same bytes, nothing is replaced unasked or left half-written, and bad
# arguments are one line and exit 2. Usage: genai_bundle_test.sh SOURCE DEPS
set -euo pipefail
source=$1
export PRECAST_DEPS_DIR=$2 PYTHONDONTWRITEBYTECODE=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
make() { "$source/tools/python" "$source/tools/make_genai_bundle.py" "$@"; }
fail() { echo "$*"; exit 1; }

refused() {  # refused WORDS ARGUMENT...: exit 2 and one line that says WORDS
  local words=$1 code=0
  shift
  make "$@" >out 2>err || code=$?
  [ "$code" = 2 ] || fail "'$*' ended with $code, not 2: $(cat err)"
  [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "'$*' said more than one line: $(cat out err)"
  grep -qF -- "$words" err || fail "'$*' did not say '$words': $(cat err)"
}

make first --tiny >out
make second --tiny >out
diff -r first second || fail "two tiny bundles differ"
make other --tiny --seed 5 >out
if cmp -s first/context.onnx other/context.onnx; then fail "the seed changes nothing"; fi
for file in embeddings.onnx context.onnx iterator.onnx lm_head.onnx genai_config.json tokenizer.json tokenizer_config.json; do
  [ -s "first/$file" ] || fail "a pipeline has no $file"
done

refused "not empty" first --tiny
diff -r first second || fail "a refused bundle changed the folder"
mkdir empty
make empty --tiny --layout decoder --external-data 4096 >out
[ -s empty/model.onnx ] && [ -s empty/model.onnx.data ] || fail "a decoder has no model.onnx with its data"
make empty --tiny --tiny-text bytes --eos-after 4 --ep qnn --overwrite >out
[ ! -e empty/model.onnx ] || fail "--overwrite left a file of the old bundle"
grep -q '"soc_model": "60"' empty/genai_config.json || fail "--ep qnn wrote no options as strings"

refused "required" third
refused "FOLDER" --tiny
refused "'big'" third --tiny --cache big
refused "--layout" third --tiny --layout round
refused "does not divide" third --tiny --prefill 48
refused "--seed is for --tiny" third --gguf nothing.gguf --seed 1
refused "--ep is for --layout pipeline" third --tiny --layout decoder --ep qnn
refused "--eos-after is at most" third --tiny --eos-after 1000
refused "no such file" third --gguf nothing.gguf
echo "no model" >text
refused "not a GGUF file" third --gguf text
refused "not a folder" text --tiny
[ ! -e third ] || fail "a refused bundle left a folder"
[ -z "$(find . -maxdepth 1 -name '.*.new.*' -o -maxdepth 1 -name '.*.old.*')" ] || fail "temporary folders are left"
echo "bundles: the same bytes twice, appearing whole or not at all"
