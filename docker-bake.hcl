# The images of this repository, from what was compiled before: the frontend
# from build/frontend (see the Makefile), the examples from build/examples
# (`go -C examples run ./cmd/prepare`). No build step runs anything or fetches
# anything, so the images are the same bytes on every builder.
#
#   docker buildx bake                     OCI layouts in build/images/<target>
#   PUSH=1 docker buildx bake frontend     to REGISTRY/<target>:TAG
#
# Run it from the top of the repository: its paths are relative to there.

variable "REGISTRY" {
  default     = "localhost:5000/agentsuite"
  description = "where the images are pushed to: a registry and the beginning of a repository name"
}

variable "TAG" {
  default = "latest"
}

variable "PLATFORMS" {
  default     = "linux/amd64,linux/arm64"
  description = "comma-separated"
}

variable "PUSH" {
  default     = false
  description = "push to REGISTRY instead of writing OCI layouts"
}

variable "SOURCE_DATE_EPOCH" {
  default     = "1767225600"
  description = "seconds since 1970 that all later timestamps become; the examples' source epoch"
}

function "output" {
  params = [name]
  result = [PUSH
    ? "type=image,push=true,oci-mediatypes=true,rewrite-timestamp=true"
    : "type=oci,tar=false,dest=build/images/${name},rewrite-timestamp=true"
  ]
}

function "tags" {
  params = [name]
  result = PUSH ? ["${REGISTRY}/${name}:${TAG}"] : []
}

group "default" {
  targets = ["frontend", "examples"]
}

group "examples" {
  targets = ["runtime-base", "harness", "harness-stacked"]
}

target "_image" {
  platforms = split(",", PLATFORMS)
  args      = { SOURCE_DATE_EPOCH = SOURCE_DATE_EPOCH }
  # Attestations tell of the builder and the hour, so that the digest of an
  # index would never be the same twice.
  attest = ["type=provenance,disabled=true", "type=sbom,disabled=true"]
}

target "frontend" {
  inherits    = ["_image"]
  description = "The BuildKit frontend, what BUILDKIT_SYNTAX names"
  context     = "build/frontend"
  dockerfile  = "../../Dockerfile.frontend"
  tags        = tags("frontend")
  output      = output("frontend")
}

target "runtime-base" {
  inherits    = ["_image"]
  description = "Example runtime base: certificates, users and time zones for static programs"
  context     = "build/examples/images/runtime-base"
  dockerfile  = "../../../../examples/images/runtime-base.Dockerfile"
  tags        = tags("runtime-base")
  output      = output("runtime-base")
}

target "_harness" {
  inherits   = ["_image"]
  context    = "build/examples/images/harness"
  dockerfile = "../../../../examples/images/harness.Dockerfile"
}

target "harness" {
  inherits    = ["_harness"]
  description = "Example harness as an image of its own, to stand beside any runtime base"
  tags        = tags("harness")
  output      = output("harness")
}

target "harness-stacked" {
  inherits    = ["_harness"]
  description = "Example harness stacked on the example runtime base"
  args        = { BASE = "runtime-base" }
  contexts    = { runtime-base = "target:runtime-base" }
  tags        = tags("harness-stacked")
  output      = output("harness-stacked")
}
