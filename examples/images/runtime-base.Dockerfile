# The context is what `go -C examples run ./cmd/prepare` writes to
# build/examples/images/runtime-base. Nothing is fetched: the archive holds the
# whole filesystem, with its owners and modes.
FROM scratch
ADD rootfs.tar /
ENV PATH=/usr/local/bin:/usr/bin
USER 65532:65532
WORKDIR /
