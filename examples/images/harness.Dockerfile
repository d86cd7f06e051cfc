# The context is what `go -C examples run ./cmd/prepare` writes to
# build/examples/images/harness. With BASE=scratch the harness is an image of
# its own; with the runtime base it is stacked on that.
ARG BASE=scratch
FROM ${BASE}
ARG TARGETOS TARGETARCH
COPY --chmod=0755 ${TARGETOS}_${TARGETARCH}/harness /usr/local/bin/harness
ENV PATH=/usr/local/bin:/usr/bin
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/usr/local/bin/harness"]
