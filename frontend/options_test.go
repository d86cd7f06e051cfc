package frontend

import (
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerui"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
)

func dockerClient(args map[string]string) *dockerui.Client {
	return &dockerui.Client{Config: dockerui.Config{
		BuildArgs:      args,
		BuildPlatforms: []ocispecs.Platform{{OS: "linux", Architecture: "arm64"}, {OS: "linux", Architecture: "amd64"}},
	}}
}

func TestOptions(t *testing.T) {
	opts, err := newOptions(dockerClient(nil))
	require.NoError(t, err)
	require.Equal(t, []ocispecs.Platform{{OS: "linux", Architecture: "arm64"}}, opts.platforms, "the builder's own")
	require.True(t, opts.merge)
	require.Nil(t, opts.epoch)
	require.Empty(t, opts.suiteDigest)

	digest := "sha256:" + strings.Repeat("a", 64)
	opts, err = newOptions(dockerClient(map[string]string{
		ArgDigest: digest, ArgMerge: "false", ArgEpoch: "", "BUILDKIT_SYNTAX": "x", "http_proxy": "y",
	}))
	require.NoError(t, err)
	require.Equal(t, digest, opts.suiteDigest.String())
	require.False(t, opts.merge)
	require.NotNil(t, opts.epoch, "an empty epoch is one that was given")
}

// Two images of one platform would be one in the result, with every attestation twice.
func TestPlatformsAreDistinct(t *testing.T) {
	client := dockerClient(nil)
	client.TargetPlatforms = []ocispecs.Platform{
		{OS: "linux", Architecture: "arm64"}, {OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "x86_64"}, {OS: "linux", Architecture: "arm64", Variant: "v8"},
	}
	opts, err := newOptions(client)
	require.NoError(t, err)
	require.Equal(t, client.TargetPlatforms[:2], opts.platforms)
}

func TestOptionsRefuse(t *testing.T) {
	for name, test := range map[string]struct {
		args map[string]string
		want string
	}{
		"digest":           {map[string]string{ArgDigest: "latest"}, `AGENTSUITE_DIGEST="latest" is no digest`},
		"another hash":     {map[string]string{ArgDigest: "sha512:" + strings.Repeat("a", 128)}, "is no digest"},
		"merge":            {map[string]string{ArgMerge: "maybe"}, "is neither true nor false"},
		"unknown argument": {map[string]string{"AGENTSUITE_MERG": "false"}, "AGENTSUITE_MERG is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newOptions(dockerClient(test.args))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestSuitePlatform(t *testing.T) {
	for _, test := range []struct {
		platform ocispecs.Platform
		want     string // empty: refused
	}{
		{ocispecs.Platform{OS: "linux", Architecture: "amd64"}, "linux/amd64"},
		{ocispecs.Platform{OS: "linux", Architecture: "x86_64"}, "linux/amd64"},
		{ocispecs.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}, "linux/arm64"},
		{ocispecs.Platform{OS: "linux", Architecture: "amd64", Variant: "v3"}, ""},
		{ocispecs.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}, ""},
		{ocispecs.Platform{OS: "windows", Architecture: "amd64"}, ""},
	} {
		got, err := suitePlatform(test.platform)
		if test.want == "" {
			require.ErrorContains(t, err, "linux/amd64 or linux/arm64")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.want, got.String())
	}
}

func TestEpoch(t *testing.T) {
	profile := suite.Loaded[suite.BuildProfile]{Path: "build-profiles/default.json", Doc: suite.BuildProfile{ID: "default", SourceEpoch: 1767225600}}
	for value, good := range map[string]bool{"1767225600": true, "1": false, "": false, "01767225600": false} {
		b := &build{options: options{epoch: &value}}
		epoch, err := b.epoch(profile)
		if good {
			require.NoError(t, err)
			require.Equal(t, int64(1767225600), epoch.Unix())
			continue
		}
		require.ErrorContains(t, err, "sourceEpoch 1767225600")
		require.ErrorContains(t, err, `SOURCE_DATE_EPOCH is "`+value+`"`)
	}
	epoch, err := (&build{}).epoch(profile)
	require.NoError(t, err)
	require.Equal(t, int64(1767225600), epoch.Unix())
}
