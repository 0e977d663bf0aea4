#!/usr/bin/env bash
# Arrows point only downwards: every #include of a layer's file names the layer itself or one below it; and the headers
# of the lower layers see neither json, fmt, CLI11, spdlog nor ORT.
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
declare -A below=(
  [util]="util"
  [fs]="util fs"
  [process]="util process"
  [model]="util fs model"
  [tensor]="util fs model tensor"
  [ort]="util fs process model tensor ort"
  [identity]="util fs process model tensor ort identity"
  [store]="util fs process model tensor ort identity store"
  [compile]="util fs process model tensor ort identity store compile"
  [session]="util fs process model tensor ort identity store compile session"
  [genai]="util fs process model tensor ort identity store compile session genai"
  [api]="util fs process model tensor ort identity store compile session genai api"
  [bench]="util fs process model tensor ort identity store compile session genai bench"
  [cli]="util fs process model tensor ort identity store compile session genai bench cli"
)
bad=0
checked=0
for layer in "${!below[@]}"; do
  while IFS=: read -r file include; do
    checked=$((checked + 1))
    target=${include%%/*}
    [ -n "${below[$target]:-}" ] || continue  # not one of ours
    case " ${below[$layer]} " in
      *" $target "*) ;;
      *) echo "$file: $layer may not include $include"; bad=1 ;;
    esac
  done < <(grep -rhoHE '^#include "[^"]+"' "src/$layer" | sed -E 's/:#include "([^"]+)"/:\1/')
done
for layer in util fs process model tensor identity store; do
  # json_fwd.hpp only declares; it costs nothing.
  if grep -HE '^#include [<"](nlohmann|fmt|CLI|spdlog|onnxruntime)' "src/$layer"/*.hpp | grep -v json_fwd; then
    echo "a header of $layer sees json, fmt, CLI11, spdlog or ORT"
    bad=1
  fi
done
[ "$checked" -gt 100 ] || { echo "only $checked includes were found: this test looks in the wrong place"; exit 1; }
[ "$bad" = 0 ] && echo "$checked includes point downwards"
exit "$bad"
