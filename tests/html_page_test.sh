#!/usr/bin/env bash
# Pages of every kind of report in a real browser, without a network: nothing is said on the console, nothing is loaded,
# every chart that is to be there is drawn and tells its values under the mouse. Screenshots are kept to be looked at.
# html_page_test.sh SOURCE SAMPLE_PAGES_PROGRAM SCREENSHOTS
set -euo pipefail
command -v chromium >/dev/null || { echo "no chromium: run tools/setup test"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/pages" "$3"
"$2" "$work/pages"
/usr/bin/python3 "$1/tests/html_page_test.py" "$1/tests/html_page_probe.js" "$work" "$3"
