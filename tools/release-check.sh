#!/usr/bin/env bash
# Looks at what goreleaser has put into dist/: sums, static programs for both
# processors, their bills of materials, and what the archives have.
set -euo pipefail
cd "$(dirname "$0")/../dist"

fail() { echo "dist: $*" >&2; exit 1; }

sha256sum --check --quiet SHA256SUMS
for arch in amd64 arm64; do
	archive=$(ls catfish_*_linux_$arch.tar.gz)
	top=${archive%.tar.gz}
	grep -q " $archive\$" SHA256SUMS || fail "SHA256SUMS is without $archive"
	for file in catfish catfish-bench catfish-coordinator LICENSE README.md CHANGELOG.md deploy/systemd/catfish.service; do
		tar -tf "$archive" "$top/$file" >/dev/null || fail "$archive is without $file"
	done
	for name in catfish catfish-bench catfish-coordinator; do
		bill=$name${top#catfish}.cdx.json
		grep -q " $bill\$" SHA256SUMS || fail "SHA256SUMS is without $bill"
		program=$(mktemp)
		tar -xOf "$archive" "$top/$name" >"$program"
		modules=$(go version -m "$program" | grep -c $'^\tdep\t')
		go version -m "$program" | grep -q "GOARCH=$arch" || fail "$archive has a program of another processor"
		go version -m "$program" | grep -q CGO_ENABLED=0 || fail "$archive has a program with cgo"
		# A static program asks for no interpreter.
		if readelf --program-headers --wide "$program" | grep -q INTERP; then
			fail "$archive has a program that is not static"
		fi
		rm "$program"
		listed=$(grep -c '"name": "' "$bill")
		((listed > modules)) || fail "$bill has $listed names, of $modules modules"
		grep -q '"bomFormat": "CycloneDX"' "$bill" || fail "$bill is no CycloneDX"
	done
done
# The one that runs here says which version it is.
here=$(uname -m)
case $here in x86_64) here=amd64 ;; aarch64) here=arm64 ;; esac
archive=$(ls catfish_*_linux_"$here".tar.gz)
program=$(mktemp)
trap 'rm -f "$program"' EXIT
tar -xOf "$archive" "${archive%.tar.gz}/catfish" >"$program"
chmod +x "$program"
version=${archive#catfish_}
"$program" version | grep -qF "${version%_linux_*}" || fail "$archive does not say that it is of version ${version%_linux_*}"
echo "dist/: $(wc -l <SHA256SUMS) files, as they should be"
