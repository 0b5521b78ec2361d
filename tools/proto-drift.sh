#!/usr/bin/env bash
# Fails if the committed protobuf code is not what `make proto` writes.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
bin/buf generate --output "$fresh"
if ! diff -r --exclude='*.proto' api/catfish "$fresh/api/catfish"; then
	echo 'generated code is stale: run make proto and commit' >&2
	exit 1
fi
