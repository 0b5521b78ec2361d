#!/bin/sh
# Makes the guest, a kernel and an initrd, from what fetch.sh unpacked, and
# prints its folder. Does nothing if that is already done.
# Status 3: this machine cannot do it, and the last line says why.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

root=$("$here/fetch.sh")
key=$(cat "$here/init" "$here/build.sh" | cksum | cut -d ' ' -f 1)
guest=${root%/*}/guest-${root##*-}-$key
if [ -d "$guest" ]; then
	echo "$guest"
	exit 0
fi

# What the guest runs; libraries and modules follow from it.
programs='usr/bin/rdma usr/bin/fi_info usr/bin/fi_pingpong
usr/bin/ibv_devinfo usr/bin/ibv_rc_pingpong'
modules='virtio_pci 9pnet_virtio 9p dummy crc32_generic rdma_rxe rdma_ucm'

kernel=$(cd "$root/lib/modules" && echo *)
libs=usr/lib/x86_64-linux-gnu
tmp=$(mktemp -d "${root%/*}/build.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
new=$tmp/initrd
mkdir -p "$tmp/guest" "$new"
# As in Debian, so that paths of either style work.
(cd "$new" && mkdir -p dev etc/libibverbs.d proc root share sys tmp \
	usr/bin usr/sbin usr/lib64 "$libs" && ln -s usr/bin bin &&
	ln -s usr/sbin sbin && ln -s usr/lib lib && ln -s usr/lib64 lib64)

put() { # a file of the unpacked packages, to the same path
	cp -L "$root/$1" "$new/$1"
}

# The unpacked loader lists what a file links to, with the host's libraries
# as a last resort: one of those means that packages.txt lacks a package.
needs() {
	"$root/lib64/ld-linux-x86-64.so.2" --inhibit-cache \
		--library-path "$root/$libs:$root/lib/x86_64-linux-gnu" \
		--list "$root/$1" >"$tmp/list"
	awk -v root="$root/" '$2 == "=>" && index($3, root) != 1 { print $1 }' \
		"$tmp/list" >"$tmp/lacking"
	if [ -s "$tmp/lacking" ]; then
		echo "rdmavm: $1 needs $(tr '\n' ' ' <"$tmp/lacking"): name its package in packages.txt" >&2
		exit 1
	fi
	awk '$2 == "=>" { print $3 }' "$tmp/list"
}

# libpthread, libdl and librt are empty in glibc 2.36, but binaries of older
# toolchains refer to them; libgcc_s is opened at run time, by pthread_cancel.
for file in $programs "$libs/libibverbs/librxe-rdmav34.so" \
	lib/x86_64-linux-gnu/libpthread.so.0 lib/x86_64-linux-gnu/libdl.so.2 \
	lib/x86_64-linux-gnu/librt.so.1 lib/x86_64-linux-gnu/libm.so.6 \
	lib/x86_64-linux-gnu/libgcc_s.so.1 lib/x86_64-linux-gnu/libresolv.so.2; do
	mkdir -p "$new/${file%/*}"
	put "$file"
	needs "$file" >>"$tmp/libs"
done
sort -u "$tmp/libs" | while read -r lib; do
	cp -L "$lib" "$new/$libs/"
done
put lib64/ld-linux-x86-64.so.2
put etc/libibverbs.d/rxe.driver

put bin/busybox
for applet in $("$root/bin/busybox" --list); do
	[ -e "$new/bin/$applet" ] || ln -s busybox "$new/bin/$applet"
done
# Kernel and others call this one by its path.
ln -s ../bin/modprobe "$new/sbin/modprobe"
echo root:x:0:0::/root:/bin/sh >"$new/etc/passwd"
printf '127.0.0.1 localhost rdmavm\n' >"$new/etc/hosts"

# The package contains no modules.dep; its installation would generate it.
"$root/bin/busybox" depmod -b "$root" "$kernel"
dep=$root/lib/modules/$kernel/modules.dep
mkdir -p "$new/lib/modules/$kernel"
for module in $modules; do
	grep "/$module\.ko:" "$dep" || {
		echo "rdmavm: $kernel has no module $module" >&2
		exit 1
	}
done | tr -d : | tr ' ' '\n' | grep . | sort -u >"$tmp/modules"
while read -r file; do
	mkdir -p "$new/lib/modules/$kernel/${file%/*}"
	cp "$root/lib/modules/$kernel/$file" "$new/lib/modules/$kernel/$file"
	grep "^$file:" "$dep"
done <"$tmp/modules" >"$new/lib/modules/$kernel/modules.dep"
echo "$modules" >"$new/etc/modules"

cp "$here/init" "$new/init"
chmod 755 "$new/init"
(cd "$new" && find . | "$root/bin/busybox" cpio -o -H newc -R 0:0 \
	2>/dev/null) | gzip -1 >"$tmp/guest/initrd"
cp "$root/boot/vmlinuz-$kernel" "$tmp/guest/vmlinuz"
echo "rdmavm: guest is $kernel, initrd $(du -h "$tmp/guest/initrd" | cut -f 1)" >&2

mv -T "$tmp/guest" "$guest" 2>/dev/null || [ -d "$guest" ]
echo "$guest"
