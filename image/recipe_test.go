package image_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

func TestRecipeRefuses(t *testing.T) {
	payload := func(unlisted ...image.Entry) bundle {
		b := tool("a")
		b.unlisted = unlisted
		return b
	}
	reservedRoot := func(root string) world { return world{bundles: []bundle{at(root, tool("a"))}} }
	for name, tc := range map[string]struct {
		world world
		want  []string
	}{
		"install root in the metadata": {reservedRoot("/.agentsuite/x"), []string{`a/tool-provider.json:24:22: tool-provider (ASI-FS-001): installRoot "/.agentsuite/x" lies in /.agentsuite, which holds the image's own metadata; choose another one`}},
		"install root at the metadata": {reservedRoot("/.agentsuite"), []string{`lies in /.agentsuite`}},
		"install root in /proc":        {reservedRoot("/proc/a"), []string{`lies in /proc, which the runtime mounts`}},
		"install root in /sys":         {reservedRoot("/sys/a"), []string{`lies in /sys, which the runtime mounts`}},
		"install root in /dev":         {reservedRoot("/dev/a"), []string{`lies in /dev, which the runtime mounts`}},
		"install root beside /dev":     {reservedRoot("/device"), nil},
		"a whiteout": {
			world{bundles: []bundle{at("/etc", tool("a", file(".wh.passwd", 0o644, ""), file("wh.x", 0o644, "")))}},
			[]string{`tool-provider (ASI-FS-001): the destination "/etc/.wh.passwd" is a whiteout to whoever unpacks the image, since a name in it begins with .wh.; choose another name`},
		},
		"an opaque marker below":   {world{bundles: []bundle{tool("a", link("x/.wh..wh..opq", "y"))}}, []string{`"/opt/a/x/.wh..wh..opq" is a whiteout`}},
		"install root in whiteout": {world{bundles: []bundle{at("/opt/.wh.a/b", bundle{id: "a", files: []image.Entry{file("a", 0o755, "a")}})}}, []string{`"/opt/.wh.a/b/a" is a whiteout`}},
		"a name that no filesystem holds": {
			world{bundles: []bundle{tool("a", link(strings.Repeat("x", 255), "y"), link(strings.Repeat("y", 256), "z"))}},
			[]string{`tool-provider (ASI-FS-001): a name in the destination "/opt/a/` + strings.Repeat("y", 73) + `…" is 256 bytes long; a filesystem holds at most 255, so choose a shorter one`},
		},
		"a destination that cannot be unpacked": {
			world{bundles: []bundle{at(strings.Repeat("/long", 768), bundle{id: "a", files: []image.Entry{file("a", 0o755, "a")}})}},
			[]string{"is 3842 bytes long; at most 3840 can be unpacked"},
		},
		"writable path over /dev": {
			world{bundles: []bundle{writable(tool("a"), "/tmp", "/dev/shm")}},
			[]string{`tool-provider (ASI-FS-001): the writable path "/dev/shm" would hide /dev, which the runtime mounts; take it out`},
		},
		"writable root": {
			world{bundles: []bundle{writable(tool("a"), "/")}},
			[]string{`"/" would hide /.agentsuite`, `"/" would hide /dev`, `"/" would hide /proc`, `"/" would hide /sys`},
		},
		"an unlisted directory of the right mode": {world{bundles: []bundle{func() bundle {
			b := payload(dir("share", 0o755))
			b.files = append(b.files, file("share/x", 0o644, "x"))
			return b
		}()}}, nil},
		"an unlisted directory of another mode": {world{bundles: []bundle{func() bundle {
			b := payload(dir("share", 0o700))
			b.files = append(b.files, file("share/x", 0o644, "x"))
			return b
		}()}}, []string{"tool-provider (ASI-FS-001): the payload directory tool-providers/a/linux-amd64/share has mode 0700 and the inventory does not list it; list it or give it mode 0755"}},
		"an unlisted empty directory": {
			world{bundles: []bundle{payload(dir("share", 0o755))}},
			[]string{"the payload directory tool-providers/a/linux-amd64/share holds nothing that the inventory lists; list it or remove it"},
		},
		"a listed group-writable directory": {
			world{bundles: []bundle{tool("a", dir("share", 0o775))}},
			[]string{"security (ASI-FS-001): the payload directory tool-providers/a/linux-amd64/share has mode 0775, so others than root could change it; give it mode 0755"},
		},
		"an unlisted world-writable directory": {
			world{bundles: []bundle{payload(dir("share", 0o757))}},
			[]string{"security (ASI-FS-001): the payload directory tool-providers/a/linux-amd64/share has mode 0757"},
		},
		"a private payload root": {
			world{bundles: []bundle{tool("a")}, change: func(in *image.Inputs) {
				for i := range in.Index.Entries {
					if e := &in.Index.Entries[i]; e.Path == "tool-providers/a/linux-amd64" {
						e.Mode = 0o700
					}
				}
			}},
			[]string{"the payload directory tool-providers/a/linux-amd64 has mode 0700 and the inventory does not list it"},
		},
		"a base for another platform": {
			world{change: func(in *image.Inputs) { in.Base.Config.Architecture = "arm64" }},
			[]string{"build-profiles/default.json:6:5: build (ASI-RUN-001): registry.example/base@" + digest.FromString("base").String() + " is an image for linux/arm64, it is pinned for linux/amd64; pin the manifest of that platform"},
		},
		"a harness that runs nothing": {
			world{change: func(in *image.Inputs) { in.Harness.Config.Config.Entrypoint = nil }},
			[]string{"neither an entrypoint nor a command, so nothing would run the agent"},
		},
		"a harness with a command alone": {
			world{change: func(in *image.Inputs) {
				in.Harness.Config.Config.Entrypoint, in.Harness.Config.Config.Cmd = nil, []string{"/usr/bin/harness"}
			}}, nil,
		},
		"a base of a tool provider image that runs nothing": {
			world{provider: true, bundles: []bundle{tool("a")}, change: func(in *image.Inputs) { in.Base.Config.Config.Entrypoint = nil }}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.world.t = t
			recipe, err := image.NewRecipe(tc.world.inputs())
			require.NoError(t, err)
			got := lines(recipe.Problems)
			require.Len(t, got, len(tc.want), "%q", got)
			for i, want := range tc.want {
				require.Contains(t, got[i], want)
			}
			composed, _ := tc.world.compose()
			require.Subset(t, lines(composed.Problems), got, "composing repeats them")
		})
	}
}

// Inputs that do not belong together are a mistake of the caller, never a problem of a suite.
func TestRecipeNeedsConsistentInputs(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*image.Inputs)
		want   string
	}{
		"no harness":     {func(in *image.Inputs) { in.Harness = nil }, "planned with a harness"},
		"no file":        {func(in *image.Inputs) { in.Index.Entries = nil }, "is no file of the content"},
		"no composition": {func(in *image.Inputs) { in.Index.Texts = nil }, "is no text of the content"},
		"other composition": {func(in *image.Inputs) {
			in.Index.Texts["compositions/clock-linux-amd64.json"] = []byte(`{}`)
		}, "the suite states sha256:"},
	} {
		t.Run(name, func(t *testing.T) {
			in := world{t: t, bundles: []bundle{tool("a")}}.inputs()
			tc.change(&in)
			_, err := image.NewRecipe(in)
			require.ErrorContains(t, err, tc.want)
			_, err = image.NewPlan(in, &image.Composed{})
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// Only composing needs the facts; whoever plans what was composed need not carry them.
func TestRecipeNeedsFacts(t *testing.T) {
	in := world{t: t, bundles: []bundle{tool("a")}}.inputs()
	in.Objects = nil
	_, err := image.NewRecipe(in)
	require.ErrorContains(t, err, "facts of the payloads' native files are missing")
	_, err = image.NewPlan(in, &image.Composed{})
	require.NoError(t, err)
}

// Only composing needs the facts of the payloads: the frontend plans without them.
func TestOnlyComposingNeedsFacts(t *testing.T) {
	w := world{t: t, bundles: []bundle{tool("a")}}
	composed, _ := w.compose()
	in := w.inputs()
	in.Objects = nil
	_, err := image.NewRecipe(in)
	require.ErrorContains(t, err, "facts of the payloads' native files are missing")
	_, err = image.NewPlan(in, composed)
	require.NoError(t, err)
}

func TestRecipeHoldsNothingElse(t *testing.T) {
	w := world{t: t, bundles: []bundle{tool("a")}}
	recipe := func(change func(*image.Inputs)) string {
		in := w.inputs()
		change(&in)
		r, err := image.NewRecipe(in)
		require.NoError(t, err)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		return string(text)
	}
	want := recipe(func(*image.Inputs) {})
	require.Equal(t, want, recipe(func(in *image.Inputs) {
		in.SuiteDigest = "sha256:other"
		in.Labels = map[string]string{"a": "b"}
		in.Index.Texts["agents/other.json"] = []byte("{}")
		in.Index.Entries = append(in.Index.Entries, content.Entry{Path: "zzz", Type: content.File, Mode: 0o644})
		in.Objects["elsewhere"] = abi.Facts{Interpreter: []string{"/bin/sh"}}
	}), "what cannot change the filesystem is not in the recipe")

	var decoded image.Recipe
	require.NoError(t, json.Unmarshal([]byte(want), &decoded))
	again, err := json.Marshal(decoded)
	require.NoError(t, err)
	require.JSONEq(t, want, string(again), "a recipe can travel")
}

// The facts of a bundle's files reach the checks at the files' destinations, under each of their names.
func TestComposeChecksNativeFiles(t *testing.T) {
	b := tool("a", file("lib/run.sh", 0o755, "#!"))
	b.objects = map[string]abi.Facts{
		"bin/a":      {ELF: &abi.ELF{Machine: "arm64", Executable: true}},
		"lib/run.sh": {Interpreter: []string{"/usr/bin/python3"}},
	}
	b.variant = func(v *suite.Variant) { v.Runtime.RequiredBasePaths = []string{"/etc/ssl/certs", "/etc/passwd"} }
	composed, _ := world{t: t, bundles: []bundle{b}}.compose()
	got := lines(composed.Problems)
	require.Len(t, got, 3, "%q", got)
	require.Contains(t, got[0], "a/tool-provider.json:27:18: build (ASI-ABI-001): /etc/ssl/certs: a@1.0.0 requires this path")
	require.Contains(t, got[1], `build (ASI-ABI-001): /opt/a/lib/run.sh: needs the interpreter "/usr/bin/python3"`)
	require.Contains(t, got[2], "build (ASI-ABI-001): /opt/a/bin/a: is a native file for arm64, the image is for amd64")

	// A filesystem that cannot exist is not judged.
	composed, _ = world{t: t, bundles: []bundle{at("/lib/a", b)}}.compose()
	require.Len(t, composed.Problems, 1)
	require.Contains(t, composed.Problems[0].Message, "through /lib")
}

func TestComposeFindsTheUser(t *testing.T) {
	withUser := func(user string) func(*image.Inputs) {
		return func(in *image.Inputs) { in.Harness.Config.Config.User = user }
	}
	composed, _ := world{t: t, change: withUser("app")}.compose()
	require.Equal(t, image.User{UID: 1000, GID: 1234}, composed.User)

	harness := scanOf(file("usr/bin/harness", 0o755, "h"), file("etc/passwd", 0o644, "app:x:7:8::/:/bin/sh\n"))
	harness.Files["etc/passwd"] = []byte("app:x:7:8::/:/bin/sh\n")
	composed, _ = world{t: t, base: scanOf(dir("tmp", 0o1777)), harness: harness, change: withUser("app")}.compose()
	require.Equal(t, image.User{UID: 7, GID: 8}, composed.User, "a harness beside brings its own users")

	composed, _ = world{t: t, change: withUser("nobody-here")}.compose()
	require.Equal(t, []string{`build-profiles/default.json:20:5: build (ASI-RUN-001): the image is configured to run as "nobody-here", but the user "nobody-here" is not in /etc/passwd; build it with a numeric user`}, lines(composed.Problems))

	for user, want := range map[string]string{
		"":     "the image is configured to run as no user in particular, so it runs as 65532:65532; build it with a numeric user",
		"root": `the image is configured to run as "root", which is root, so it runs as 65532:65532; build it with another user`,
	} {
		composed, _ = world{t: t, change: withUser(user)}.compose()
		require.Empty(t, composed.Problems)
		require.Equal(t, image.User{UID: 65532, GID: 65532}, composed.User)
		require.Len(t, composed.Warnings, 1)
		require.Equal(t, "RootUser", composed.Warnings[0].Rule.Name)
		require.Equal(t, want, composed.Warnings[0].Message)
		require.Equal(t, "build-profiles/default.json", composed.Warnings[0].Path)
	}
}
