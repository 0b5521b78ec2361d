#!/bin/sh
# Downloads the guest's Debian packages and unpacks them into the cache,
# as any user. Prints the folder. Does nothing if that is already done.
# Status 3: this machine cannot do it, and the last line says why.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${RDMAVM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/catfish-rdmavm}

# Another list of packages gets another folder, so that an old one is never
# mistaken for the new one. Remove the cache to get newer packages.
root=$cache/root-$(cksum <"$here/packages.txt" | cut -d ' ' -f 1)

cannot() {
	echo "rdmavm: $*" >&2
	exit 3
}

if [ -d "$root" ]; then
	echo "$root"
	exit 0
fi

for tool in apt-get apt-cache dpkg; do
	command -v "$tool" >/dev/null ||
		cannot "no $tool: the guest is made of Debian 12 packages"
done
[ "$(dpkg --print-architecture)" = amd64 ] ||
	cannot 'the guest runs binaries of the host, which must be amd64'

names=$(awk '$1 == "guest" { print $2 }' "$here/packages.txt")
meta=$(awk '$1 == "kernel" { print $2 }' "$here/packages.txt")
kernel=$(apt-cache depends "$meta" 2>/dev/null |
	awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }')
[ -n "$kernel" ] ||
	cannot "apt does not know $meta: run 'apt-get update' as root"

mkdir -p "$cache"
tmp=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
mkdir "$tmp/debs" "$tmp/root"

echo "rdmavm: fetching $kernel and others into $cache" >&2
# Root's apt would download as user _apt, who may not write here.
# shellcheck disable=SC2086 # one word per package
(cd "$tmp/debs" && apt-get -qq -o APT::Sandbox::User=root download \
	"$kernel" $names </dev/null >&2) ||
	cannot "apt-get could not download the guest's packages (no network, or package lists too old: run 'apt-get update' as root)"
echo "rdmavm: downloaded $(du -sh "$tmp/debs" | cut -f 1)" >&2

for deb in "$tmp"/debs/*.deb; do
	dpkg -x "$deb" "$tmp/root"
	rm "$deb"
done

# update-alternatives would make this link when the package is installed.
ln -s ../libpsm1/libpsm_infinipath.so.1.16 \
	"$tmp/root/usr/lib/x86_64-linux-gnu/libpsm_infinipath.so.1"

# mv without -T would move it into a folder that another run has just made.
mv -T "$tmp/root" "$root" 2>/dev/null || [ -d "$root" ]
echo "$root"
