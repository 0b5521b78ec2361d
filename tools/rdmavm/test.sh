#!/bin/sh
# `make test-rdma`: builds the test binaries with libfabric and runs them
# in the guest. Where that is impossible, prints SKIPPED and exits with 0; with
# 1 if CI or CATFISH_NO_SKIP is set, so that CI never skips unnoticed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
go=${GO:-go}

skip() {
	echo '************************************************************'
	if [ -n "${CI:-}${CATFISH_NO_SKIP:-}" ]; then
		echo "FAILED: test-rdma must run here, but: $1"
	else
		echo "SKIPPED: test-rdma: $1"
	fi
	echo '************************************************************'
	[ -z "${CI:-}${CATFISH_NO_SKIP:-}" ]
	exit
} >&2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

install=$(awk '$1 == "host" { printf " %s", $2 }' "$here/packages.txt")
install="as root: apt-get install --no-install-recommends$install"
command -v qemu-system-x86_64 >/dev/null || skip "no QEMU; $install"
# Links, since a library without its headers, or the reverse, is of no use.
echo '#include <rdma/fabric.h>
#include <infiniband/verbs.h>
int main(void) { return fi_version() == 0; }' >"$tmp/try.c"
${CC:-gcc} -o "$tmp/try" "$tmp/try.c" -lfabric -libverbs 2>/dev/null ||
	skip "no gcc or no libfabric; $install"

rc=0
"$here/build.sh" 2>"$tmp/build.log" >/dev/null || rc=$?
cat "$tmp/build.log" >&2
[ $rc != 3 ] || skip "$(tail -n 1 "$tmp/build.log" | sed 's/^rdmavm: //')"
[ $rc = 0 ] || exit $rc

mkdir "$tmp/share"
cp "$here/suite/run.sh" "$tmp/share/"
CGO_ENABLED=1 $go test -tags ofi -c -o "$tmp/share/ofi.test" ./internal/rdma/ofi
# As in the source tree, because the test reads data of a neighbouring package.
mkdir -p "$tmp/share/catfish-src/catfish/client" "$tmp/share/catfish-src/datasets"
cp -r datasets/testdata "$tmp/share/catfish-src/datasets/"
CGO_ENABLED=1 $go test -tags ofi -c -o "$tmp/share/catfish-src/catfish/client/catfish.test" ./catfish/client
for p in cuckoo record kv; do
	CGO_ENABLED=1 $go test -tags ofi -c -o "$tmp/share/$p-remote.test" ./internal/$p/remote
done
CGO_ENABLED=1 $go test -tags ofi -c -o "$tmp/share/fastmsg.test" ./fastmsg
CGO_ENABLED=1 $go build -tags ofi -buildvcs=false -o "$tmp/share/catfish" ./cmd/catfish
(cd bench && CGO_ENABLED=1 $go build -tags ofi -buildvcs=false -o "$tmp/share/catfish-bench" ./cmd/catfish-bench)

# The guest's device first, so that its failure is not mistaken for ours.
"$here/run.sh" "$here/selfcheck" 60
# stages MB NAMES LIMIT runs stages of suite/run.sh in one machine, for LIMIT seconds
# at most. The variable STAGES selects some.
stages() {
	echo "$2" >"$tmp/share/stages"
	RDMAVM_MEM=$1 "$here/run.sh" "$tmp/share" "$3"
}
if [ -n "${STAGES:-}" ]; then
	stages 1024 "$STAGES" 1200
	exit
fi
stages 512 'conformance messages processes' 1200
# Histories need more memory than the rest.
stages 1024 'library records' 1200
