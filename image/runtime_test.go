package image_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// contractOf is the runtime contract in a plan, with its text.
func contractOf(t *testing.T, plan *image.Plan) (specs.Spec, string) {
	t.Helper()
	for _, f := range plan.Layers[len(plan.Layers)-1].Files {
		if f.Path == ".agentsuite/runtime.json" {
			var spec specs.Spec
			require.NoError(t, json.Unmarshal([]byte(f.Text), &spec))
			return spec, f.Text
		}
	}
	require.Fail(t, "the plan has no runtime contract")
	return specs.Spec{}, ""
}

func TestRuntimeContract(t *testing.T) {
	declared := func(id string, change func(*suite.Variant)) bundle {
		b := tool(id)
		b.variant = change
		return b
	}
	w := world{t: t, bundles: []bundle{
		declared("a", func(v *suite.Variant) {
			v.WritablePaths = []string{"/work", "/tmp"}
			v.Environment = []suite.EnvironmentInput{
				{Name: "ZONE"}, {Name: "TOKEN", Secret: true, Delivery: "env"}, {Name: "KEY", Secret: true, Delivery: "file", Required: true},
			}
			v.Network = []suite.Endpoint{{Scheme: "https", Host: "b.example", Port: 443}, {Scheme: "https", Host: "::1", Port: 1}}
		}),
		declared("b", func(v *suite.Variant) {
			v.WritablePaths = []string{"/tmp", "/work/deep"}
			v.Environment = []suite.EnvironmentInput{{Name: "ZONE", Required: true}, {Name: "TOKEN", Secret: true, Delivery: "file"}}
			v.Network = []suite.Endpoint{{Scheme: "https", Host: "b.example", Port: 443}, {Scheme: "amqp", Host: "a.example", Port: 5671}}
		}),
	}}
	plan := w.plan()
	spec, text := contractOf(t, plan)

	canonical, err := jcs.Transform([]byte(text))
	require.NoError(t, err)
	require.Equal(t, string(canonical), text)

	require.Equal(t, "1.0.2", spec.Version)
	require.Equal(t, specs.User{UID: 1000, GID: 1000}, spec.Process.User)
	require.Equal(t, plan.Config.Config.Entrypoint, spec.Process.Args)
	require.Equal(t, plan.Config.Config.Env, spec.Process.Env)
	require.Equal(t, plan.Config.Config.WorkingDir, spec.Process.Cwd)
	require.True(t, spec.Process.NoNewPrivileges)
	require.False(t, spec.Process.Terminal)
	require.Equal(t, &specs.LinuxCapabilities{}, spec.Process.Capabilities, "present, so that no runtime has its own default")
	require.Contains(t, text, `"capabilities":{}`)
	require.Equal(t, &specs.Root{Path: "rootfs", Readonly: true}, spec.Root)

	var namespaces []string
	for _, n := range spec.Linux.Namespaces {
		require.Empty(t, n.Path, "a new namespace, not another's")
		namespaces = append(namespaces, string(n.Type))
	}
	require.ElementsMatch(t, []string{"pid", "network", "ipc", "uts", "mount", "cgroup"}, namespaces)

	var writable []string
	mounts := map[string]specs.Mount{}
	for _, m := range spec.Mounts {
		mounts[m.Destination] = m
		if strings.HasPrefix(m.Destination, "/tmp") || strings.HasPrefix(m.Destination, "/work") {
			writable = append(writable, m.Destination)
			require.Equal(t, "tmpfs", m.Type)
			require.Equal(t, []string{"nosuid", "nodev", "mode=0700", "uid=1000", "gid=1000"}, m.Options)
		}
	}
	require.Equal(t, []string{"/tmp", "/work", "/work/deep"}, writable, "a path before those below it")
	require.Contains(t, mounts["/sys"].Options, "ro")
	for _, system := range []string{"/proc", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue"} {
		require.Contains(t, mounts, system)
	}
	require.Len(t, mounts, 9)
	require.Contains(t, spec.Linux.MaskedPaths, "/proc/kcore")
	require.Contains(t, spec.Linux.ReadonlyPaths, "/proc/sys")
	require.Equal(t, map[string]string{
		"org.agentsuite.environment": `[{"name":"ZONE","required":true}]`,
		"org.agentsuite.secrets":     `[{"delivery":"file","name":"KEY","required":true},{"delivery":"env","name":"TOKEN","required":false},{"delivery":"file","name":"TOKEN","required":false}]`,
		"org.agentsuite.network":     `["amqp://a.example:5671","https://[::1]:1","https://b.example:443"]`,
		"org.agentsuite.model":       `{"endpointEnv":"MODEL_ENDPOINT","model":"any","protocol":"openai","secretRefs":["model-key"]}`,
	}, spec.Annotations)
	require.Equal(t, map[string]struct{}{"/tmp": {}, "/work": {}, "/work/deep": {}}, plan.Config.Config.Volumes)
}

// Nothing declared is nothing granted, and said so.
func TestRuntimeContractOfAProvider(t *testing.T) {
	b := tool("a")
	b.variant = func(v *suite.Variant) { v.Arguments = []string{"serve"} }
	spec, _ := contractOf(t, world{t: t, provider: true, bundles: []bundle{b}}.plan())
	require.Equal(t, []string{"/opt/a/bin/a", "serve"}, spec.Process.Args)
	require.Equal(t, map[string]string{
		"org.agentsuite.environment": `[]`, "org.agentsuite.secrets": `[]`, "org.agentsuite.network": `[]`,
	}, spec.Annotations)
	require.Len(t, spec.Mounts, 6)
}
