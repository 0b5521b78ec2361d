#!/usr/bin/env bash
# Fails if the committed assembly is not what `make generate` writes.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
(cd tools && "${GO:-go}" run ./scanasm -out "$fresh/scan_amd64.s" \
	-stubs "$fresh/scan_stubs_amd64.go" -pkg rstar)
for f in scan_amd64.s scan_stubs_amd64.go; do
	# The first line names the file that was written.
	if ! diff <(tail -n +2 "rstar/$f") <(tail -n +2 "$fresh/$f"); then
		echo "rstar/$f is stale: run make generate and commit" >&2
		exit 1
	fi
done
