#!/bin/sh
# usage: run.sh DIR [TIMEOUT]
#
# Runs DIR/run.sh in a small virtual machine that has an RDMA device, and
# exits with its status; 124 after TIMEOUT seconds (default 300) or without
# any status. 3: this machine cannot run it.
#
#   host                             guest (QEMU, without KVM)
#   ----                             -------------------------
#   fetch.sh: Debian packages
#   build.sh: vmlinuz, initrd  --->  init: modules, dummy0 10.0.0.1, rxe0
#   DIR/  (9p, read only)      --->  /share
#     run.sh, binaries               sh /share/run.sh
#   our stdout                 <---  ttyS0: "RDMAVM EXIT <status>", power off
#
# rxe0 is Soft-RoCE: the kernel's own RoCE v2, here over dummy0, so that a
# process talks to another one in the same guest. There is no outside network.
#
# RDMAVM_CPUS (default 2) and RDMAVM_MEM (default 512, MB) size the guest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
share=$(cd "${1:?usage: run.sh DIR [TIMEOUT]}" && pwd)
limit=${2:-300}

command -v qemu-system-x86_64 >/dev/null || {
	echo 'rdmavm: no qemu-system-x86_64: install qemu-system-x86' >&2
	exit 3
}
case $share in *,*) # is QEMU's own separator
	echo "rdmavm: no commas in the folder's name: $share" >&2
	exit 2
	;;
esac
[ -f "$share/run.sh" ] || {
	echo "rdmavm: no $share/run.sh" >&2
	exit 2
}
guest=$("$here/build.sh")

tmp=$(mktemp -d)
qemu=
cleanup() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || :
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

mkfifo "$tmp/console"
tee "$tmp/log" <"$tmp/console" &
tee=$!

# pdeathsig ends timeout and QEMU even when this script gets killed -9.
# idle=poll: TCG wakes an idle processor 100 times slower. tsc=reliable: Go
# reads the clock in 0.2 us instead of 3, and TCG has one counter for all.
# The guest's own limit is less, so that it can boot and report what took too
# long.
setpriv --pdeathsig TERM timeout -k 5 "$((limit + 60))" \
	setpriv --pdeathsig KILL qemu-system-x86_64 \
	-accel tcg,thread=multi -cpu max \
	-m "${RDMAVM_MEM:-512}" -smp "${RDMAVM_CPUS:-2}" \
	-nodefaults -no-user-config -display none -no-reboot \
	-kernel "$guest/vmlinuz" -initrd "$guest/initrd" \
	-append "console=ttyS0 quiet panic=-1 idle=poll tsc=reliable rdmavm.limit=$limit" \
	-serial stdio \
	-virtfs "local,path=$share,mount_tag=share,security_model=none,readonly=on" \
	</dev/null >"$tmp/console" &
qemu=$!
rc=0
wait "$qemu" || rc=$?
qemu=
wait "$tee" || :

status=$(sed -n 's/^RDMAVM EXIT \([0-9][0-9]*\).*/\1/p' "$tmp/log" | tail -n 1)
if [ -z "$status" ]; then
	if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
		echo "rdmavm: FAILED: the guest did not end within $((limit + 60)) s" >&2
	else
		echo "rdmavm: FAILED: no RDMAVM EXIT line; QEMU ended with $rc" >&2
	fi
	exit 124
fi
exit "$status"
