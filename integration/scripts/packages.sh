#!/usr/bin/env bash
# Installs Debian packages, but only those whose program is missing.
#
#   packages.sh PROGRAM=PACKAGE[,PACKAGE...] ...
#
# PROGRAM is a name looked up in PATH, or the absolute path of a file.
set -euo pipefail

missing=()
for pair in "$@"; do
	program=${pair%%=*}
	if [[ $program == /* ]]; then
		[[ -e $program ]] && continue
	else
		type -P "$program" >/dev/null && continue
	fi
	echo "==> $program is missing"
	IFS=, read -ra packages <<<"${pair#*=}"
	missing+=("${packages[@]}")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! type -P apt-get >/dev/null; then
	echo "error: there is no apt-get here; install what Debian calls ${missing[*]}, then try again" >&2
	exit 1
fi
if [[ $EUID -ne 0 ]]; then
	echo "error: installing packages needs root, this is uid $EUID; as root run: apt-get install ${missing[*]}" >&2
	exit 1
fi
echo "==> apt-get install ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq -o Dpkg::Use-Pty=0 install --yes --no-install-recommends "${missing[@]}"
