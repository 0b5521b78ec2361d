#!/usr/bin/env bash
# Fails if internal/web/app/dist is not what its sources are built to. Wants what `npm ci`
# has installed; changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
OUT_DIR=$out/dist npm --prefix internal/web/app run --silent build >"$out/log" 2>&1 || {
	cat "$out/log"
	exit 1
}
if ! diff -rq internal/web/app/dist "$out/dist"; then
	echo 'internal/web/app/dist is not what its sources give: run make page, and commit it'
	exit 1
fi
