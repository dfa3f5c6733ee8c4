#!/usr/bin/env bash
# Makes the pictures that the README shows: what Chromium draws of the pages of
# testdata/llama_tp2.sqlite, light and dark.
#
#	scripts/pictures.sh [DIR]    into .github/images where no folder is given
#
# Needs Go, Chromium and cwebp (Debian's packages chromium and webp). Fonts differ from
# machine to machine, so the bytes do.
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:-.github/images}
mkdir -p "$to"
work=$(mktemp -d "${TMPDIR:-/tmp}/hostbound-XXXXXX")
trap 'rm -rf "$work"' EXIT

for name in verdict gaps; do
	go run "./cmd/$name" testdata/llama_tp2.sqlite -o "$work/$name.html" 2>/dev/null
done

# picture NAME PAGE HEIGHT [HEADING]: the first HEIGHT pixels of a page of 1200, or those
# from a heading on. A frame shows them, for Chromium draws nothing of a page that it
# has to scroll itself.
picture() {
	local at=
	[ -z "${4:-}" ] || at=$(grep -o "id=\"[a-z0-9]*\">$4" "$work/$2.html" | cut -d '"' -f 2)
	printf '<!doctype html><meta name="color-scheme" content="light dark"><style>body { margin: 0 } iframe { border: 0; width: 1200px; height: %spx }</style><iframe src="%s.html#%s"></iframe>' \
		"$3" "$2" "$at" >"$work/frame.html"
	for scheme in dark light; do # as Chromium numbers them
		chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking --no-first-run --hide-scrollbars \
			--user-data-dir="$work/profile" --force-device-scale-factor=1.5 --window-size="1200,$3" --virtual-time-budget=3000 \
			--blink-settings=preferredColorScheme=$([ $scheme = dark ]; echo $?) --screenshot="$work/shot.png" "file://$work/frame.html" 2>/dev/null
		cwebp -quiet -lossless -z 9 "$work/shot.png" -o "$to/$1-$scheme.webp"
	done
}

picture verdict verdict 1000
picture gaps gaps 1080
picture step gaps 480 'Steps in detail'
