# The two commands of the README are `make demo` and `make test`; `make` alone lists the rest.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The modules whose code is ours; those below integration/ only pin tools.
modules := . examples
# Run a command in every one of them: $(call each-module,go test ./...)
each-module = for module in $(modules); do echo "==> $$module: $(1)"; (cd $$module && $(1)); done

# Files that are not compiled without their tag still have to pass the linters.
tags := integration,compat,bench
FUZZTIME ?= 1m
# The tests that need daemons of `make compat`.
COMPAT := ^(TestOldBuildKits|TestDocumentedBuilders|TestClassicDockerEngine)$$
ROUNDS ?= 5

export PATH := $(CURDIR)/build/bin:$(PATH)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### for a change ####################################################################################################

.PHONY: unit
unit: ## unit tests, in seconds: no root, no daemon
	@$(call each-module,go test ./...)

.PHONY: generate
generate: ## write generated files anew
	@$(call each-module,go generate ./...)

.PHONY: lint
lint: linters ## go vet, staticcheck and golangci-lint
	@$(call each-module,go vet -tags $(tags) ./...)
	@$(call each-module,staticcheck -tags $(tags) ./...)
	@$(call each-module,golangci-lint run --build-tags $(tags) --config $(CURDIR)/.golangci.yml ./...)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (1m)
	@$(call each-module,$(CURDIR)/integration/scripts/fuzz.sh $(FUZZTIME))

##### everything ######################################################################################################

.PHONY: test
test: ## everything: linters, unit tests with the race detector, integration tests with real daemons; as root
	@$(MAKE) --no-print-directory packages
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory race
	@$(MAKE) --no-print-directory integration

.PHONY: race
race: ## unit tests with the race detector, which needs a C compiler
	@$(call each-module,CGO_ENABLED=1 go test -race -timeout 20m ./...)

.PHONY: integration
integration: tools programs rootfs ## integration tests alone, as root
	go test -tags integration -count=1 -timeout 30m ./integration/...

.PHONY: compat
compat: tools programs ## the same images by older BuildKits and a Docker engine's classic store, as root; 15 minutes the first time
	@$(MAKE) --no-print-directory build/bin/.old
	go test -tags integration,compat -count=1 -timeout 30m -run '$(COMPAT)' ./integration/builders

.PHONY: demo
demo: packages tools programs ## build and run the example's agent image; BUILDER=<name> does so on your own buildx builder
ifdef BUILDER
	env -u REGISTRY BUILDX_BUILDER=$(BUILDER) ./integration/demo.sh
else
	build/bin/with-buildkit -- ./integration/demo.sh
endif

.PHONY: bench
bench: packages tools programs rootfs ## benchmarks against sha256 and, in medians of ROUNDS (5), against the Dockerfile frontend; as root
	go test -run '^$$' -bench . -timeout 60m $$(go list ./... | grep -v /integration/)
	go test -tags bench -run '^$$' -bench . -benchtime $(ROUNDS)x -timeout 60m ./integration/bench

##### what those need #################################################################################################

.PHONY: packages
packages: ## install the Debian packages that are missing, as root
	@integration/scripts/packages.sh runc=runc mount=mount git=git gcc=gcc,libc6-dev musl-gcc=musl-tools

.PHONY: tools
tools: build/bin/.servers ## build the daemons and clients of the integration tests into build/bin
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -o build/bin/ ./integration/cmd/with-buildkit

# What goes into an image, or runs as a tool in an empty filesystem: static, and the same bytes on every machine.
static := CGO_ENABLED=0 GOOS=linux go build -trimpath -buildvcs=false -ldflags='-s -w -buildid='

.PHONY: programs
programs: ## compile the command line, the frontend for both platforms, and the examples
	@$(static) -o build/bin/ ./cmd/agentsuite-llb ./integration/cmd/sandbox-probe
	@for arch in amd64 arm64; do GOARCH=$$arch $(static) -o build/frontend/linux_$$arch/frontend ./cmd/frontend; done
	@go -C examples run ./cmd/prepare

.PHONY: linters
linters: build/bin/.linters ## build the linters into build/bin

build/bin/.servers: integration/tools/go.mod integration/tools/go.sum integration/scripts/tools.sh
	@integration/scripts/tools.sh servers
	@touch $@

build/bin/.old: $(wildcard integration/oldtools/*/go.mod integration/oldtools/*/go.sum) integration/scripts/tools.sh
	@integration/scripts/tools.sh old
	@touch $@

build/bin/.linters: integration/lint/go.mod integration/lint/go.sum integration/scripts/tools.sh
	@integration/scripts/tools.sh linters
	@touch $@

.PHONY: rootfs
rootfs: ## make the Debian root file system that the benchmarks use as a base, as root
	@integration/scripts/debian-rootfs.sh build/debian

.PHONY: clean
clean: ## remove everything that was built, the daemons' state included
	rm -rf build
