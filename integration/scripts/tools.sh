#!/usr/bin/env bash
# Builds programs of this repository's tool modules into build/bin.
#
#   tools.sh servers     buildkitd, buildctl, buildx, registry, dockerfile-frontend (integration/tools/go.mod)
#   tools.sh linters     staticcheck, golangci-lint (integration/lint/go.mod)
#   tools.sh old         what integration/oldtools/<name>/go.mod pins, into build/bin/<name>
#
# Go rebuilds only what its cache does not have: minutes the first time, seconds after that.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Built from a module, the programs do not know their own version, and clients ask for it.
version() { echo "-X $1/version.Version=$(go list -m -f '{{.Version}}' "$1")"; }

# build DIR FLAG... builds the programs that the module in the working directory pins into build/bin/DIR.
build() {
	local out=$top/build/bin/$1 programs
	mapfile -t programs < <(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' tool)
	echo "==> building into ${out#"$top"/}: ${programs[*]##*/}"
	mkdir -p "$out"
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w ${*:2}" -o "$out/" "${programs[@]}"
}

case ${1-} in
servers)
	cd "$top/integration/tools"
	build . "$(version github.com/moby/buildkit)" "$(version github.com/docker/buildx)"
	;;
linters)
	cd "$top/integration/lint"
	build .
	;;
old)
	for module in "$top"/integration/oldtools/*/; do
		cd "$module"
		build "$(basename "$module")" "$(version github.com/moby/buildkit)"
	done
	;;
*)
	echo "usage: ${0##*/} servers|linters|old" >&2
	exit 2
	;;
esac
