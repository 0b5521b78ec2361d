#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each, since
# `go test -fuzz` takes only one at once. Stops at the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:?usage: fuzz.sh TIME-PER-TARGET}
for pkg in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "$pkg $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"
	done
done
