package image_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite"
)

func TestConfigIsDerived(t *testing.T) {
	rich := func(c *dockerspec.DockerOCIImageConfig, name string) {
		c.Cmd = []string{"--" + name}
		c.WorkingDir = "/" + name
		c.StopSignal = "SIGINT"
		c.ExposedPorts = map[string]struct{}{"80/tcp": {}}
		c.Healthcheck = &dockerspec.HealthcheckConfig{Test: []string{"CMD", name}, Interval: time.Second}
		c.OnBuild = []string{"RUN evil"}
		c.Shell = []string{"/bin/sh"}
		c.Labels = map[string]string{"of": name, "org.agentsuite.agent": "stale"}
		c.Volumes = map[string]struct{}{"/data": {}}
		c.Env = []string{"PATH=/" + name, "ONLY_" + name + "=1", "EQ=a=b"}
	}
	enrich := func(in *image.Inputs) {
		rich(&in.Base.Config.Config, "base")
		if in.Harness != nil {
			rich(&in.Harness.Config.Config, "harness")
		}
	}
	for name, tc := range map[string]struct {
		world world
		want  func(*dockerspec.DockerOCIImageConfig)
	}{
		"harness beside": {world{}, func(c *dockerspec.DockerOCIImageConfig) {
			c.Entrypoint, c.WorkingDir = []string{"/usr/bin/harness"}, "/"
			c.Env = []string{"PATH=/usr/bin:/bin", "FROM=harness"}
		}},
		"rich harness beside": {world{change: enrich}, func(c *dockerspec.DockerOCIImageConfig) {
			rich(c, "harness")
			c.Entrypoint = []string{"/usr/bin/harness"}
			c.Env = []string{"PATH=/harness", "ONLY_base=1", "EQ=a=b", "ONLY_harness=1"}
		}},
		"rich harness stacked": {world{stacked: true, change: enrich}, func(c *dockerspec.DockerOCIImageConfig) {
			rich(c, "harness")
			c.Entrypoint = []string{"/usr/bin/harness"}
		}},
		"tool provider": {
			world{provider: true, change: enrich, bundles: []bundle{func() bundle {
				b := tool("a")
				b.variant = func(v *suite.Variant) {
					v.Arguments, v.WritablePaths = []string{"serve", "--stdio"}, []string{"/work", "/tmp"}
				}
				return b
			}()}},
			func(c *dockerspec.DockerOCIImageConfig) {
				rich(c, "base")
				c.Entrypoint, c.Cmd = []string{"/opt/a/bin/a", "serve", "--stdio"}, nil
				c.Volumes = map[string]struct{}{"/tmp": {}, "/work": {}}
			},
		},
		"nothing falls back to the base": {
			world{change: func(in *image.Inputs) {
				rich(&in.Base.Config.Config, "base")
				in.Harness.Config.Config = dockerspec.DockerOCIImageConfig{ImageConfig: ocispec.ImageConfig{Cmd: []string{"run"}, User: "9"}}
			}},
			func(c *dockerspec.DockerOCIImageConfig) {
				c.Cmd, c.WorkingDir = []string{"run"}, "/"
				c.Env = []string{"PATH=/base", "ONLY_base=1", "EQ=a=b"}
				c.User = "9:9"
			},
		},
		"relative working directory": {
			world{change: func(in *image.Inputs) { in.Harness.Config.Config.WorkingDir = "app" }},
			func(c *dockerspec.DockerOCIImageConfig) {
				c.Entrypoint, c.WorkingDir = []string{"/usr/bin/harness"}, "/app"
				c.Env = []string{"PATH=/usr/bin:/bin", "FROM=harness"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.world.t = t
			plan := tc.world.plan()
			var want dockerspec.DockerOCIImageConfig
			tc.want(&want)
			want.OnBuild, want.Shell, want.Labels = nil, nil, plan.Config.Config.Labels
			if want.User == "" {
				want.User = "1000:1000"
			}
			if len(tc.world.bundles) == 0 {
				want.Volumes = nil
			}
			require.Empty(t, cmp.Diff(want, plan.Config.Config))
			require.Equal(t, ocispec.Platform{OS: "linux", Architecture: "amd64"}, plan.Config.Platform)
			require.Equal(t, time.Unix(1_700_000_000, 0).UTC(), *plan.Config.Created)
			require.Empty(t, plan.Config.Author)
		})
	}
}

func TestLabels(t *testing.T) {
	labelled := func(in *image.Inputs) { in.Labels = map[string]string{"org.example.a": "1"} }
	agent := world{t: t, bundles: []bundle{tool("a")}, change: labelled}
	plan, in := agent.plan(), agent.inputs()
	require.Equal(t, map[string]string{
		"org.agentsuite.suite.digest":       digest.FromString("suite").String(),
		"org.agentsuite.build-profile":      "default",
		"org.agentsuite.inventory.digest":   plan.Inventory.Digest.String(),
		"org.agentsuite.binding.digest":     plan.Binding.Digest.String(),
		"org.agentsuite.agent":              "clock",
		"org.agentsuite.composition.digest": in.Selection.Composition.Digest.String(),
		"org.example.a":                     "1",
	}, plan.Config.Config.Labels)

	provider := world{t: t, provider: true, bundles: []bundle{tool("a")}}
	plan, in = provider.plan(), provider.inputs()
	require.Nil(t, plan.Binding)
	require.Equal(t, map[string]string{
		"org.agentsuite.suite.digest":                     digest.FromString("suite").String(),
		"org.agentsuite.build-profile":                    "default",
		"org.agentsuite.inventory.digest":                 plan.Inventory.Digest.String(),
		"org.agentsuite.tool-provider":                    in.Selection.Bundles[0].Key().String(),
		"org.agentsuite.tool-provider-composition.digest": in.Selection.ToolProviderComposition.Digest.String(),
	}, plan.Config.Config.Labels)

	refused := world{t: t, change: func(in *image.Inputs) {
		in.Labels = map[string]string{"org.agentsuite.agent": "x", "org.agentsuite.": "y", "org.agentsuitex": "z"}
	}}
	composed, _ := refused.compose()
	_, err := image.NewPlan(refused.inputs(), composed)
	require.EqualError(t, err, `build (ASI-BIND-001): the label "org.agentsuite." is one of those that say what the image was made of; leave it to the builder
build (ASI-BIND-001): the label "org.agentsuite.agent" is one of those that say what the image was made of; leave it to the builder`)
}

func TestHistoryIsComplete(t *testing.T) {
	epoch := time.Unix(1_700_000_000, 0).UTC()
	old := time.Unix(1, 0).UTC()
	ours := func(by string) ocispec.History {
		return ocispec.History{Created: &epoch, CreatedBy: "agentsuite-llb: " + by}
	}
	base := []ocispec.History{{Created: &old, CreatedBy: "ADD base", Comment: "kept"}, {CreatedBy: "ENV x", EmptyLayer: true}}
	in := world{t: t}.inputs()
	baseRef, harnessRef := in.Base.Pin.ImageRef, in.Harness.Pin.ImageRef
	for name, tc := range map[string]struct {
		world world
		want  []ocispec.History
	}{
		"beside": {
			world{change: func(in *image.Inputs) { in.Base.Config.History = base }, bundles: []bundle{tool("a"), tool("b")}},
			append(append([]ocispec.History{}, base...), ours("harness "+harnessRef), ours("bundle a@1.0.0"), ours("bundle b@1.0.0"), ours("metadata")),
		},
		"stacked": {
			world{stacked: true, bundles: []bundle{tool("a")}},
			[]ocispec.History{{CreatedBy: "COPY base"}, {CreatedBy: "COPY harness"}, ours("bundle a@1.0.0"), ours("metadata")},
		},
		"base without a history": {
			world{provider: true, bundles: []bundle{tool("a")}, change: func(in *image.Inputs) { in.Base.Config.History = nil }},
			[]ocispec.History{ours(baseRef + " layer " + digest.FromString("base layer").String()), ours("bundle a@1.0.0"), ours("metadata")},
		},
		"base with too long a history": {
			world{provider: true, bundles: []bundle{tool("a")}, change: func(in *image.Inputs) {
				in.Base.Config.History = []ocispec.History{{CreatedBy: "1"}, {CreatedBy: "2"}}
			}},
			[]ocispec.History{ours(baseRef + " layer " + digest.FromString("base layer").String()), ours("bundle a@1.0.0"), ours("metadata")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.world.t = t
			plan := tc.world.plan()
			require.Empty(t, cmp.Diff(tc.want, plan.Config.History))
		})
	}
}
