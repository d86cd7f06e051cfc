#!/usr/bin/env bash
# Makes DIR/rootfs.tar, a Debian root file system of the size that the benchmarks are stated for: about 270 MB in
# 10,000 regular files. The same packages give the same bytes. An archive that exists is kept.
set -euo pipefail

dir=${1:?usage: debian-rootfs.sh DIR}
archive=$dir/rootfs.tar
[[ -e $archive ]] && exit 0

if [[ $EUID -ne 0 ]]; then
	echo "error: making a root file system needs root, this is uid $EUID" >&2
	exit 1
fi
"$(dirname "${BASH_SOURCE[0]}")/packages.sh" mmdebstrap=mmdebstrap \
	/usr/share/keyrings/debian-archive-keyring.gpg=debian-archive-keyring

echo "==> making $archive with mmdebstrap"
mkdir -p "$dir"
trap 'rm -f "$archive.part"' EXIT
# Device nodes stay out: they are no content of an image, and a runtime makes its own.
SOURCE_DATE_EPOCH=1700000000 mmdebstrap --quiet --format=tar --variant=apt --skip=output/dev \
	--include=ca-certificates,curl,git,python3,tzdata bookworm "$archive.part"

read -r megabytes files < <(tar --list --verbose --file "$archive.part" |
	awk '/^-/ { bytes += $3; files++ } END { printf "%d %d\n", bytes / 1e6, files }')
echo "==> $megabytes MB in $files files"
if ((megabytes < 240 || megabytes > 300 || files < 9000 || files > 11000)); then
	echo "error: expected about 270 MB in 10,000 files: adapt the list of packages in ${BASH_SOURCE[0]}" >&2
	exit 1
fi
mv "$archive.part" "$archive"
