package frontend

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Build arguments that this frontend knows. The names of the first two are its own; the third is the
// field's.
const (
	// ArgDigest states the suite digest that the build must have.
	ArgDigest = "AGENTSUITE_DIGEST"
	// ArgMerge set to false makes the build copy files instead of merging layers.
	ArgMerge = "AGENTSUITE_MERGE"
	// ArgEpoch must agree with the build profile's sourceEpoch.
	ArgEpoch = "SOURCE_DATE_EPOCH"
)

const argPrefix = "AGENTSUITE_"

// options are what a user asked for, besides what dockerui holds.
type options struct {
	// target is an agent's id or id@version of a tool provider; empty for the only agent.
	target string
	// platforms are the platforms to build for, never empty.
	platforms []ocispecs.Platform
	// suiteDigest is the suite digest that is expected; empty for any.
	suiteDigest digest.Digest
	// merge tells whether MergeOp may be used.
	merge bool
	// epoch is SOURCE_DATE_EPOCH as the build carries it; nil when it does not.
	epoch *string
	// labels are the user's own labels.
	labels map[string]string
	// noCache makes every operation run again.
	noCache bool
}

func newOptions(bc *dockerui.Client) (options, error) {
	opts := options{
		target:    bc.Target,
		platforms: bc.TargetPlatforms,
		merge:     true,
		labels:    bc.Labels,
		noCache:   bc.IsNoCache(""),
	}
	if len(opts.platforms) == 0 {
		opts.platforms = bc.BuildPlatforms[:1]
	}
	opts.platforms = distinct(opts.platforms)
	for _, name := range slices.Sorted(maps.Keys(bc.BuildArgs)) {
		value := bc.BuildArgs[name]
		switch {
		case name == ArgEpoch:
			opts.epoch = &value
		case name == ArgDigest:
			parsed, err := digest.Parse(value)
			if err != nil || parsed.Algorithm() != digest.SHA256 {
				return options{}, fmt.Errorf("--build-arg %s=%q is no digest: it takes sha256: and 64 lower-case hexadecimal characters, as \"agentsuite-llb pack\" prints them", ArgDigest, value)
			}
			opts.suiteDigest = parsed
		case name == ArgMerge:
			merge, err := strconv.ParseBool(value)
			if err != nil {
				return options{}, fmt.Errorf("--build-arg %s=%q is neither true nor false", ArgMerge, value)
			}
			opts.merge = merge
		case strings.HasPrefix(name, argPrefix):
			return options{}, fmt.Errorf("--build-arg %s is unknown: this frontend has %s and %s", name, ArgDigest, ArgMerge)
		}
	}
	return opts, nil
}

// distinct leaves out platforms that were asked for before, in whatever spelling: a result has one image of each.
func distinct(requested []ocispecs.Platform) []ocispecs.Platform {
	var list []ocispecs.Platform
	seen := map[string]bool{}
	for _, p := range requested {
		if id := platforms.FormatAll(platforms.Normalize(p)); !seen[id] {
			seen[id] = true
			list = append(list, p)
		}
	}
	return list
}

// suitePlatform turns a requested platform into one of the specification, which has no variants and no
// other systems.
func suitePlatform(p ocispecs.Platform) (suite.Platform, error) {
	normalized := platforms.Normalize(p)
	platform := suite.Platform{OS: normalized.OS, Architecture: normalized.Architecture}
	if normalized.Variant != "" || normalized.OSVersion != "" || !slices.Contains(suite.Platforms(), platform) {
		return suite.Platform{}, fmt.Errorf("platform %s is not part of AgentSuite %s: an image is for %s", platforms.FormatAll(normalized), suite.SpecVersion, problem.Join(platformNames(suite.Platforms()), "or"))
	}
	return platform, nil
}
