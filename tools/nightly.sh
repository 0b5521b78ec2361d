#!/usr/bin/env bash
# usage: tools/nightly.sh TARGET...
#
# Makes each target, whatever became of those before, and prints a page with a line
# for each. Its status is 1 if one failed. Output is in bin/nightly, which has the
# page as well.
set -uo pipefail
cd "$(dirname "$0")/.."
exec </dev/null

logs=bin/nightly
rm -rf "$logs"
mkdir -p "$logs"
page=$logs/page.txt
{
	echo "make nightly, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(date -u +%FT%RZ)"
	echo "machine: $(getconf _NPROCESSORS_ONLN) cores, $(uname -srm), load $(cut -d ' ' -f 1 /proc/loadavg) at the start"
	echo
} >"$page"
status=0
for target; do
	began=$SECONDS log=$logs/$target.log
	echo "== make $target"
	result=passed more=
	if ! "${MAKE:-make}" --no-print-directory "$target" 2>&1 | tee "$log"; then
		result=FAILED more="  $log" status=1
	fi
	printf '%-16s %-7s %6d s%s\n' "$target" "$result" $((SECONDS - began)) "$more" >>"$page"
done
printf '\n'
cat "$page"
exit $status
