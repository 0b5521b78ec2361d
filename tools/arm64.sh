#!/usr/bin/env bash
# `make test-arm64`: vets what is another on arm64, and runs under
# emulation the tests of rstar that use its NEON scans. What emulation cannot show
# is checked in the source: that a WORD is the instruction in its comment, and that
# the barriers are there.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

need() {
	command -v "$1" && return
	echo "test-arm64: no $1; as root: apt-get install" \
		"--no-install-recommends $2" >&2
	exit 1
}
qemu=$(need qemu-aarch64-static qemu-user-static)
as=$(need aarch64-linux-gnu-as binutils-aarch64-linux-gnu)
objdump=$(need aarch64-linux-gnu-objdump binutils-aarch64-linux-gnu)

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
asm=rstar/scan_arm64.s

# Each WORD must be the GNU assembler's encoding of its comment:
#	WORD $0x6e20e600 // fcmge v0.4s, v16.4s, v0.4s
sed -n 's|^\tWORD \$0x[0-9a-f]\{8\} // ||p' $asm >"$tmp/words.s"
[[ $(wc -l <"$tmp/words.s") = $(grep -cw WORD $asm) ]] || {
	echo "test-arm64: $asm has a WORD without a mnemonic" >&2
	exit 1
}
"$as" -o "$tmp/words.o" "$tmp/words.s"
"$objdump" -d "$tmp/words.o" |
	sed -n 's/^ *[0-9a-f]*:\t\([0-9a-f]\{8\}\) .*/\1/p' |
	paste -d ' ' - "$tmp/words.s" |
	sed 's|^\([^ ]*\) |\tWORD $0x\1 // |' >"$tmp/want"
if ! diff <(grep -w WORD $asm) "$tmp/want"; then
	echo "test-arm64: $asm: not GNU as's encoding of the comment (>)" >&2
	exit 1
fi

# Kernels that read what a writer may be changing must end with a barrier.
for kernel in leafMaskNEON innerMaskNEON copyLinesNEON; do
	awk -v start="TEXT ·$kernel(SB)" '
		index($0, start) { inside = 1 }
		inside && $1 == "RET" { ok = last == "DMB $9"; exit }
		inside { last = $1 " " $2 }
		END { exit !ok }' $asm || {
		echo "test-arm64: $asm: $kernel does not end with DMB \$9 (ISHLD)" >&2
		exit 1
	}
done

# Packages whose files are others than amd64's are vetted, which compiles them and
# finds what is wrong in assembly. All the rest is as on amd64; make build-arm64 builds it.
export GOARCH=arm64 CGO_ENABLED=0
files() {
	GOARCH=$1 $go list -f '{{.ImportPath}} {{.GoFiles}} {{.SFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}' ./...
}
files amd64 >"$tmp/amd64"
files arm64 >"$tmp/arm64"
others=$(comm -13 <(sort "$tmp/amd64") <(sort "$tmp/arm64") | cut -d ' ' -f 1)
[[ $others == */rstar* ]] || {
	echo "test-arm64: rstar has no files for arm64? $others" >&2
	exit 1
}
# shellcheck disable=SC2086 # several words
$go vet $others

# The tests over instruction sets, and whole trees with NEON: histories of one
# goroutine, and the promises with several. That takes 40 s of one core, of which the
# promises take the most and get a process of their own; all of rstar's tests would
# take minutes.
neon='.*/.*/neon/portable=false'
$go test -vet=off -ldflags=-w -c -o "$tmp/rstar.test" ./rstar
cd rstar
"$qemu" "$tmp/rstar.test" -test.timeout 15m -test.run "Promises/$neon" &
promises=$!
"$qemu" "$tmp/rstar.test" -test.timeout 15m -test.run "Scan|Paths|Leaf|HighBits|Keys\
|Distance|Frame|NearestFirst|View|Content|Unaligned|Golden|Fuzz|SearchMany\
|Example|Histories/$neon"
wait "$promises"
