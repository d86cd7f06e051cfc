package llb

import (
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/patternmatcher"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/llb/tool"
	"github.com/agentsuite/agentsuite-llb/suite"
)

var (
	amd64     = suite.Platform{OS: "linux", Architecture: "amd64"}
	build     = ocispecs.Platform{OS: "linux", Architecture: "amd64"}
	baseRef   = "registry.example/base@" + digest.FromString("base").String()
	harnRef   = "registry.example/harness@" + digest.FromString("harness").String()
	selfRef   = "registry.example/frontend@" + digest.FromString("frontend").String()
	epochTime = int64(1_767_225_600)
)

// fixture is a plan with every kind of generated layer, and the states that it is made from.
func fixture(t *testing.T) (*image.Plan, Sources, Executable) {
	t.Helper()
	self := Executable{State: llb.Image(selfRef), Path: "/frontend", Platform: build}
	context := llb.Local("context")
	base := Pinned(suite.BaseImage{Platform: amd64, ImageRef: baseRef}).State()
	harness := Pinned(suite.BaseImage{Platform: amd64, ImageRef: harnRef}).State()
	scan := self.Scan(harness, "harness")
	composed, err := self.Compose(ComposeInputs{
		Suite: self.Open(context), Base: self.Scan(base, "base"), Harness: &scan,
		Request: tool.Request{Target: "clock", Platform: amd64},
	})
	require.NoError(t, err)
	plan := &image.Plan{
		Target: "clock", Platform: amd64, SourceEpoch: epochTime,
		Layers: []image.Layer{
			{Kind: image.LayerRuntimeBase, Name: "base"},
			{Kind: image.LayerHarnessBeside, Name: "harness"},
			{Kind: image.LayerBundles, Name: "bundle datetime@1.0.0", Bundles: []image.BundleCopy{{
				PayloadRoot: "providers/datetime", InstallRoot: "/opt/datetime", Excluded: []string{"a*b", "c[d]"},
			}}},
			{
				Kind: image.LayerMetadata, Name: "metadata",
				Directories: []image.Entry{{Path: ".agentsuite", Mode: 0o555}},
				Files: []image.File{
					{Path: ".agentsuite/binding.json", Mode: 0o444, Text: "{}"},
					{Path: ".agentsuite/agent.json", Mode: 0o444, Content: "agents/clock.json"},
					{Path: ".agentsuite/inventory.json", Mode: 0o444},
				},
				Restored: []image.Entry{{Path: "tmp", Mode: 0o1777}, {Path: "root", Mode: 0o700, UID: 1, GID: 2}},
			},
		},
	}
	return plan, Sources{Base: base, Harness: &harness, Content: Content{State: context}, Composed: composed}, self
}

func operations(t *testing.T, state llb.State) []*pb.Op {
	t.Helper()
	def, err := state.Marshal(t.Context(), llb.LocalUniqueID("one"))
	require.NoError(t, err)
	ops := make([]*pb.Op, len(def.Def))
	for i, data := range def.Def {
		ops[i] = new(pb.Op)
		require.NoError(t, ops[i].Unmarshal(data))
	}
	return ops
}

// Nothing but the pinned images and the context is a source, and nothing but our tools runs, without a
// network, on inputs that it cannot write.
func TestNothingElseRuns(t *testing.T) {
	for name, merge := range map[string]bool{"merge": true, "copy": false} {
		t.Run(name, func(t *testing.T) {
			plan, sources, self := fixture(t)
			state, err := Image(plan, sources, Options{Merge: merge})
			require.NoError(t, err)
			var tools, found []string
			for _, op := range operations(t, state) {
				switch op := op.Op.(type) {
				case *pb.Op_Source:
					found = append(found, op.Source.Identifier)
				case *pb.Op_Exec:
					require.Equal(t, pb.NetMode_NONE, op.Exec.Network)
					require.Equal(t, pb.SecurityMode_SANDBOX, op.Exec.Security)
					require.Equal(t, []string{self.Path, "tool"}, op.Exec.Meta.Args[:2])
					require.Empty(t, op.Exec.Secretenv)
					tools = append(tools, op.Exec.Meta.Args[2])
					for _, mount := range op.Exec.Mounts {
						require.Equal(t, pb.MountType_BIND, mount.MountType)
						require.Equal(t, mount.Dest != tool.OutDir, mount.Readonly, mount.Dest)
					}
				case *pb.Op_Build:
					t.Fatal("a build may not start another one")
				}
			}
			slices.Sort(found)
			require.Equal(t, []string{
				"docker-image://" + baseRef, "docker-image://" + selfRef, "docker-image://" + harnRef, "local://context",
			}, found)
			slices.Sort(tools)
			require.Equal(t, []string{tool.Compose, tool.Open, tool.Scan, tool.Scan}, tools)
		})
	}
}

// Names and constraints that only a person sees move no operation, and equal plans give equal ones.
func TestEqualPlansGiveEqualOperations(t *testing.T) {
	marshal := func(opts ...llb.ConstraintsOpt) [][]byte {
		plan, sources, _ := fixture(t)
		state, err := Image(plan, sources, Options{Merge: true, Constraints: opts})
		require.NoError(t, err)
		def, err := state.Marshal(t.Context(), llb.LocalUniqueID("one"))
		require.NoError(t, err)
		return def.Def
	}
	want := marshal()
	require.Equal(t, want, marshal())
	require.Equal(t, want, marshal(llb.WithCustomName("another name"), llb.WithDescription(map[string]string{"k": "v"}), llb.ProgressGroup("id", "group", true)))
}

func TestEveryGeneratedLayerIsStamped(t *testing.T) {
	plan, sources, _ := fixture(t)
	state, err := Image(plan, sources, Options{Merge: true})
	require.NoError(t, err)
	ops := operations(t, state)
	byDigest := map[string]*pb.Op{}
	def, err := state.Marshal(t.Context(), llb.LocalUniqueID("one"))
	require.NoError(t, err)
	for i, data := range def.Def {
		byDigest[digest.FromBytes(data).String()] = ops[i]
	}
	head := ops[len(ops)-1]
	merge := byDigest[head.Inputs[0].Digest]
	require.NotNil(t, merge.GetMerge())
	require.Len(t, merge.Inputs, 4, "base, harness, bundle and metadata")
	for _, input := range merge.Inputs[1:] {
		file := byDigest[input.Digest].GetFile()
		require.NotNil(t, file)
		last := file.Actions[len(file.Actions)-1]
		require.Equal(t, epochTime*1e9, last.GetCopy().Timestamp)
	}
}

// What a bundle makes on the way to its install root is stamped last, deep in directories that an earlier bundle of the
// same layer made, too.
func TestWaysToInstallRootsAreStamped(t *testing.T) {
	plan, sources, _ := fixture(t)
	plan.Layers[2].Bundles = []image.BundleCopy{
		{PayloadRoot: "a", InstallRoot: "/opt/x/a"}, {PayloadRoot: "b", InstallRoot: "/opt/x/a/lib/b"}, {PayloadRoot: "c", InstallRoot: "/c"},
	}
	state, err := Image(plan, sources, Options{Merge: true})
	require.NoError(t, err)
	for _, op := range operations(t, state) {
		actions := op.GetFile().GetActions()
		if len(actions) == 0 || actions[0].GetCopy().GetDest() != "/opt/x/a" {
			continue
		}
		var stamped []string
		for _, action := range actions[3:] {
			require.Equal(t, epochTime*1e9, action.GetCopy().Timestamp)
			require.EqualValues(t, -1, action.GetCopy().Mode, "a mode stays as it is")
			stamped = append(stamped, action.GetCopy().Dest)
		}
		require.Equal(t, []string{"/opt", "/opt/x", "/opt/x/a", "/opt/x/a/lib"}, stamped)
		return
	}
	t.Fatal("there is no layer of the bundles")
}

// A pattern matches the one path that it is made from, and what lies below, as the daemon reads patterns.
func TestLiteralPatterns(t *testing.T) {
	paths := []string{
		"a*b", "axb", "c[d]", "cd", `e\f`, "ef", "g?", "gh", "!i", "i", " j", "j", "k ", "k", "\tl\n", "l", "#m", "\u3000n", "n", "o^p$q.r+(s){t}|u", "v/w x/!y", "-", "**",
	}
	for i, pattern := range literalPatterns(paths) {
		matcher, err := patternmatcher.New([]string{pattern})
		require.NoError(t, err, pattern)
		require.False(t, matcher.Exclusions(), pattern)
		for j, p := range paths {
			for _, path := range []string{p, p + "/below"} {
				matches, err := matcher.MatchesOrParentMatches(path)
				require.NoError(t, err)
				require.Equal(t, i == j, matches, "%q against %q", pattern, path)
			}
		}
	}
}

// The layer that puts directories back holds their parents, as they are everywhere else.
func TestRestoredDirectoriesHaveParents(t *testing.T) {
	plan, sources, _ := fixture(t)
	metadata := &plan.Layers[len(plan.Layers)-1]
	metadata.Restored = []image.Entry{{Path: "a/b", Mode: 0o1777}, {Path: "a/b/c/d", Mode: 0o700}, {Path: "a/e/f", Mode: 0o755, UID: 1}}
	state, err := Image(plan, sources, Options{Merge: true})
	require.NoError(t, err)
	var made []string
	for _, op := range operations(t, state) {
		for _, action := range op.GetFile().GetActions() {
			switch {
			case action.GetMkdir() != nil && strings.HasPrefix(action.GetMkdir().Path, "/a"):
				require.EqualValues(t, 0o755, action.GetMkdir().Mode)
				made = append(made, action.GetMkdir().Path)
			case action.GetCopy() != nil && strings.HasPrefix(action.GetCopy().Dest, "/a"):
				require.False(t, action.GetCopy().CreateDestPath)
				made = append(made, action.GetCopy().Dest)
			}
		}
	}
	require.Equal(t, []string{"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/e", "/a/e/f"}, made)
}

func TestPolicyAllowsOnlyWhatIsGiven(t *testing.T) {
	_, sources, self := fixture(t)
	policy, err := Policy(t.Context(), sources.Base, sources.Content.State, self.State, sources.Base)
	require.NoError(t, err)
	require.Equal(t, "DENY", policy.Rules[0].Action.String())
	require.Equal(t, "*", policy.Rules[0].Selector.Identifier)
	var allowed []string
	for _, rule := range policy.Rules[1:] {
		require.Equal(t, "ALLOW", rule.Action.String())
		require.Equal(t, "EXACT", rule.Selector.MatchType.String())
		allowed = append(allowed, rule.Selector.Identifier)
	}
	require.Equal(t, []string{"docker-image://" + baseRef, "docker-image://" + selfRef, "local://context"}, allowed)
}

func TestLocationKeepsTheDigest(t *testing.T) {
	pinned := Pinned(suite.BaseImage{Platform: amd64, ImageRef: baseRef})
	require.Equal(t, digest.FromString("base"), pinned.Digest())

	layout := pinned.InLayout("registry.example/base", "store", "session")
	source := operations(t, layout.State())[0].GetSource()
	require.True(t, strings.HasPrefix(source.Identifier, "oci-layout://") && strings.HasSuffix(source.Identifier, "@"+string(pinned.Digest())), source.Identifier)
	require.Equal(t, "store", source.Attrs[pb.AttrOCILayoutStoreID])
	require.NotNil(t, layout.Resolve("log").OCILayoutOpt)
	require.NotNil(t, pinned.Resolve("log").ImageOpt)
}
