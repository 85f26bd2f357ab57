#!/bin/sh
# Opens the page of the committed record in a real Chromium: no console message, every picture
# drawn. Leaves screenshots (light, dark, phone) in the folder given, to be looked at.
#
#   reports/tests/browser.sh OUT [CHROMIUM]
set -eu
out=${1:?usage: reports/tests/browser.sh OUT [CHROMIUM]}
chromium=${2:-chromium}
command -v "$chromium" >/dev/null || {
    echo "MISSING: $chromium: that a browser shows the report is NOT checked" >&2
    exit 3
}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT

(cd "$here/.." && cargo run --quiet --bin report -- render tests/data/orin.json \
    --baseline tests/data/orin.json --out "$out" >/dev/null)
# A phone is narrower than the smallest window.
echo '<body style="margin:0"><iframe src="report.html" width="360" height="6000" style="border:0">' \
    '</iframe></body>' >"$out/phone.html"

browse() {
    timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --hide-scrollbars --user-data-dir="$profile" --enable-logging=stderr "$@"
}

browse --dump-dom "file://$out/report.html" >"$out/dom.html" 2>"$out/browser.log"
if grep CONSOLE "$out/browser.log"; then
    echo "the page wrote to the console" >&2
    exit 1
fi
files=$(find "$out/svg" -name '*.svg' | wc -l)
drawn=$(grep -o '<svg [^>]*role="img"' "$out/dom.html" | wc -l)
if [ "$files" -ne "$drawn" ]; then
    echo "$files pictures were written, the browser has $drawn" >&2
    exit 1
fi
shot() {
    name=$1 size=$2 page=$3
    shift 3
    browse --screenshot="$out/$name.png" --window-size="$size" "$@" "file://$out/$page" 2>/dev/null
    test -s "$out/$name.png"
}
shot light 1200,7000 report.html
shot dark 1200,7000 report.html --blink-settings=preferredColorScheme=0
shot phone 500,6000 phone.html
echo "$drawn pictures drawn; look at $out/light.png, dark.png and phone.png"
