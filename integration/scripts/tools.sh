#!/usr/bin/env bash
# Builds programs of this repository's tool modules into build/bin.
#
#   tools.sh servers     buildkitd, buildctl, buildx, registry, dockerfile-frontend (integration/tools/go.mod)
#   tools.sh linters     staticcheck, golangci-lint (integration/lint/go.mod)
#
# Go rebuilds only what its cache does not have: minutes the first time, seconds after that.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

case ${1-} in
servers) module=integration/tools ;;
linters) module=integration/lint ;;
*)
	echo "usage: ${0##*/} servers|linters" >&2
	exit 2
	;;
esac

cd "$top/$module"
mapfile -t programs < <(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' tool)

flags="-s -w"
if [[ $1 == servers ]]; then
	# Built from a module, the programs do not know their own version, and clients ask for it.
	version() { go list -m -f '{{.Version}}' "$1"; }
	flags+=" -X github.com/moby/buildkit/version.Version=$(version github.com/moby/buildkit)"
	flags+=" -X github.com/docker/buildx/version.Version=$(version github.com/docker/buildx)"
fi

echo "==> building into build/bin: ${programs[*]##*/}"
mkdir -p "$top/build/bin"
CGO_ENABLED=0 go build -trimpath -ldflags "$flags" -o "$top/build/bin/" "${programs[@]}"
