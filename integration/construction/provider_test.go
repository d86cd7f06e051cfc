//go:build integration

package construction_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// The image of a tool provider is the base, the provider's bundle with those that it needs, and a process of its own.
func TestToolProviderImages(t *testing.T) {
	t.Parallel()
	platforms := []suite.Platform{amd64, arm64}
	datetime := tool("datetime", ocitest.File("lib/zones", 0o644, "UTC\n")).with(map[string]any{
		"arguments": []string{"serve", "--zone", "UTC, of course"}, "writablePaths": []string{"/var/cache/datetime"},
	})
	datetime.needs = []string{"zones"}
	base := debian(t).withConfig(func(c *dockerspec.DockerOCIImageConfig) {
		c.User, c.WorkingDir, c.Entrypoint, c.Cmd, c.StopSignal = "app", "/home", []string{"/bin/sh"}, []string{"-c", "true"}, "SIGQUIT"
		c.ExposedPorts, c.OnBuild = map[string]struct{}{"80/tcp": {}}, []string{"RUN false"}
		c.Labels, c.Volumes = map[string]string{"maintainer": "somebody"}, map[string]struct{}{"/data": {}}
	})
	a := spec{platforms: platforms, base: base, providers: []provider{datetime, tool("zones"), tool("unrelated")}}.author(t)
	// However the document is written, it is embedded as it is.
	compositions := map[suite.Platform]string{}
	for _, platform := range platforms {
		name := filepath.Join("tool-provider-compositions", "datetime-"+platform.Architecture+".json")
		text, err := os.ReadFile(filepath.Join(a.dir, name))
		require.NoError(t, err)
		compositions[platform] = "\n\t" + strings.ReplaceAll(string(text), "\n  ", "\r\n    ") + "\n\n"
		writeFile(t, a.dir, name, compositions[platform])
	}
	require.NoError(t, a.seal(t))

	for way, copied := range both {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := a.build(t, request{target: "datetime@1.0.0", platforms: platforms, copied: copied})
			require.Len(t, b.layout.Images, 2)
			for _, platform := range platforms {
				inventory := b.requireHonest(t, platform)
				a.requireVerified(t, b, platform)
				files := rootfs(t, b.open(t, platform))
				require.Equal(t, compositions[platform], string(files.Kept[image.ToolProviderCompositionPath]))
				var metadata []string
				for p := range files.Kept {
					metadata = append(metadata, p)
				}
				const zones, datetime = ".agentsuite/tool-providers/zones/1.0.0/", ".agentsuite/tool-providers/datetime/1.0.0/"
				require.ElementsMatch(t, []string{
					image.InventoryPath, image.RuntimePath, image.ToolProviderCompositionPath,
					datetime + "tool-provider.json", datetime + "schemas/datetime_tool.input.json", zones + "tool-provider.json", zones + "schemas/zones_tool.input.json",
				}, metadata)
				requireEntry(t, inventory, file("opt/zones/bin/zones", 0o755, "zones@1.0.0"))
				require.Nil(t, entry(inventory, "usr/local/bin/harness"))
				require.Nil(t, entry(inventory, "opt/unrelated"))

				config := b.open(t, platform).Config.Config
				composition, err := suite.DocumentDigest([]byte(compositions[platform]))
				require.NoError(t, err)
				require.Equal(t, composition.String(), config.Labels[image.LabelToolProviderCompositionDigest])
				require.Equal(t, "datetime@1.0.0", config.Labels[image.LabelToolProvider])
				require.Equal(t, "default", config.Labels[image.LabelBuildProfile])
				require.Len(t, config.Labels, 5)
				config.Labels = nil
				require.Empty(t, cmp.Diff(dockerspec.DockerOCIImageConfig{ImageConfig: ocispecs.ImageConfig{
					User: "1000:1234", WorkingDir: "/home", Env: base.config.Env, StopSignal: "SIGQUIT", ExposedPorts: base.config.ExposedPorts,
					Entrypoint: []string{"/opt/datetime/bin/datetime", "serve", "--zone", "UTC, of course"},
					Volumes:    map[string]struct{}{"/var/cache/datetime": {}},
				}}, config))
			}
		})
	}
}
