#!/usr/bin/env bash
# The demonstration behind `make demo`: from the example's sources to an agent that answers, with a real BuildKit.
#
# It runs beside the servers of with-buildkit, or, when REGISTRY is not set, on the buildx builder that BUILDX_BUILDER
# names; then everything is handed to the builder as OCI layouts and nothing is pushed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH=$PWD/build/bin:$PATH

demo=build/demo
suite=$demo/suite
base=registry.example/agentsuite/runtime-base
harness=registry.example/agentsuite/harness
if [[ $(uname -m) == aarch64 ]]; then host=arm64; else host=amd64; fi

say() { printf '\n\033[1m%s\033[0m\n' "$*" | if [[ -t 1 ]]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
run() { printf '$ %s\n' "${*//$PWD\//}"; "$@"; }
# buildx is the plugin of a Docker that may not be here, so it is called by its own name.
build() { run buildx build --progress plain --provenance=false "$@" 2>$demo/build.log || { cat $demo/build.log >&2; exit 1; }; }
layout_digest() { sed -n 's/.*"manifests":\[{[^}]*"digest":"\(sha256:[0-9a-f]*\)".*/\1/p' "$1/index.json"; }

cleanup() { runc --root "$PWD/$demo/runc" delete --force clock-demo >/dev/null 2>&1 || true; }
trap cleanup EXIT

rm -rf $demo build/images
mkdir -p $demo

say "1. The images that the example pins: a runtime base, a harness, and our frontend"
run buildx bake --progress quiet
for target in runtime-base harness frontend; do
	printf '%-13s %s\n' $target "$(layout_digest build/images/$target)"
done
if [[ -n ${REGISTRY:-} ]]; then
	run env PUSH=1 REGISTRY="$REGISTRY/agentsuite" buildx bake --progress quiet
	frontend=$REGISTRY/agentsuite/frontend@$(layout_digest build/images/frontend)
	contexts=(
		--build-context $base=docker-image://"$REGISTRY"/agentsuite/runtime-base
		--build-context $harness=docker-image://"$REGISTRY"/agentsuite/harness
	)
else
	frontend=agentsuite/frontend
	contexts=()
	for pair in $base=runtime-base $harness=harness agentsuite/frontend=frontend; do
		layout=build/images/${pair##*=}
		contexts+=(--build-context "${pair%=*}=oci-layout://$layout@$(layout_digest "$layout")")
	done
fi

say "2. The suite: seal computes every digest and inventory, validate checks the whole graph"
cp -a build/examples/datetime $suite
run agentsuite-llb seal $suite --pin $base=oci-layout://build/images/runtime-base --pin $harness=oci-layout://build/images/harness
run agentsuite-llb validate $suite

say "3. The agent image, for both platforms, through buildx and our frontend"
platforms=linux/amd64,linux/arm64
outputs=(--output "type=oci,tar=false,dest=$demo/image")
if [[ -n ${REGISTRY:-} ]]; then outputs+=(--output "type=image,push=true,name=$REGISTRY/demo/clock"); fi
build --file $suite/agentsuite.json --build-arg BUILDKIT_SYNTAX="$frontend" --target clock \
	--platform $platforms "${contexts[@]}" "${outputs[@]}" $suite
printf 'index          %s\n' "$(layout_digest $demo/image)"

say "4. What was built holds: inventory, binding, identities"
run agentsuite-llb verify oci-layout://$demo/image --suite $suite \
	--build-context $base=oci-layout://build/images/runtime-base --build-context $harness=oci-layout://build/images/harness

say "5. The agent under runc: its own runtime contract, nothing added"
build --file $suite/agentsuite.json --build-arg BUILDKIT_SYNTAX="$frontend" --target clock \
	--platform linux/$host "${contexts[@]}" --output "type=tar,dest=$demo/rootfs.tar" $suite
mkdir -p $demo/bundle/rootfs
tar -xf $demo/rootfs.tar -C $demo/bundle/rootfs
cp $demo/bundle/rootfs/.agentsuite/runtime.json $demo/bundle/config.json
# The one thing that changes from call to call is what the container runs.
in_sandbox() {
	sed "s#\"args\":\[[^]]*\]#\"args\":[$1]#" $demo/bundle/rootfs/.agentsuite/runtime.json >$demo/bundle/config.json
	printf '$ runc run   %s\n' "$1"
	runc --root "$PWD/$demo/runc" run --bundle $demo/bundle clock-demo
}
in_sandbox '"/usr/local/bin/harness"'
in_sandbox '"/usr/local/bin/harness","call","current_time"'
cp build/bin/sandbox-probe $demo/bundle/rootfs/
in_sandbox '"/sandbox-probe"'

say "Done: a suite became an image for two platforms, and its tool answers in the sandbox."
