#!/usr/bin/env bash
# Runs every fuzz target of some packages for the given time each, since
# `go test -fuzz` accepts only one at a time. Stops at the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:?usage: fuzz.sh TIME-PER-TARGET [PACKAGES]}
packages=${2:-./...}
# By default go spends up to a minute on shortening each input that
# reaches new code, which is all the time that a short run has.
minimize=1s
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Before Go 1.27 a target may fail with nothing but "context deadline
# exceeded" when its time is up (golang/go#75804). A real finding names
# the input.
only_time_up() {
	grep -q '^    context deadline exceeded$' "$log" &&
		! grep -qE 'Failing input|panic|--- FAIL:.*/' "$log"
}

fuzz() {
	for target in $(go test -list '^Fuzz' "$1" | grep '^Fuzz' || true); do
		echo "$1 $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" \
			-fuzzminimizetime "$minimize" "$1" 2>&1 |
			tee "$log" || only_time_up
	done
}

for pkg in $(go list $packages); do
	fuzz "$pkg"
done
if [[ $packages == ./... ]]; then
	for module in bench test; do
		(cd $module && for pkg in $(go list ./...); do fuzz "$pkg"; done)
	done
fi
