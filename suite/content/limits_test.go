package content_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func TestLimits(t *testing.T) {
	members := []member{
		{name: "a.json", body: "{}"}, {name: "b.json", body: "[1]"}, {name: "c", body: "12345"}, {name: "d.md", body: "prose"}, {name: "e.txt", body: "more"},
	}
	dir := tree(t, map[string]string{"a.json": "{}", "b.json": "[1]", "c": "12345", "d.md": "prose", "e.txt": "more"})
	layer := layerOf(t, members...)
	layout := newEnvelope(layer).build(t)
	sources := map[string]func(content.Options) *content.Index{
		"directory": func(o content.Options) *content.Index { return open(t, dir, o) },
		"archive":   func(o content.Options) *content.Index { return open(t, file(t, layer), o) },
		"layout":    func(o content.Options) *content.Index { return open(t, layout.directory(t), o) },
		"tar":       func(o content.Options) *content.Index { return open(t, file(t, layout.tar(t)), o) },
		"stream":    func(o content.Options) *content.Index { return stream(t, layout.tar(t), o) },
	}
	all, archives, layouts := []string{"directory", "archive", "layout", "tar", "stream"}, []string{"archive", "layout", "tar", "stream"}, []string{"layout", "tar", "stream"}

	for name, test := range map[string]struct {
		forms []string
		// within is a value at which nothing is wrong; beyond is the next one.
		within, beyond func(*content.Limits)
		want           string
	}{
		"entries": {[]string{"directory", "archive", "layout"}, func(l *content.Limits) { l.Entries = 5 }, func(l *content.Limits) { l.Entries = 4 },
			"path-limit : the content has at least 5 entries; the limit is 4"},
		"expanded bytes": {all, func(l *content.Limits) { l.ExpandedBytes = 19 }, func(l *content.Limits) { l.ExpandedBytes = 18 },
			"path-limit e.txt: the file has 4 bytes and those before it have 15; the limit on all files together is 18"},
		"metadata": {[]string{"directory", "archive", "layout", "tar"}, func(l *content.Limits) { l.MetadataBytes = 5 }, func(l *content.Limits) { l.MetadataBytes = 4 },
			"path-limit b.json: with this file the .json files of the content have 5 bytes or more; the limit is 4"},
		"archive": {archives, func(l *content.Limits) { l.ArchiveBytes = 512*10 + 1024 }, func(l *content.Limits) { l.ArchiveBytes = 512*10 + 1023 },
			"path-limit : the archive has more than 6143 bytes, which is the limit, compressed as well as uncompressed"},
		"descriptors": {layouts, func(l *content.Limits) { l.OCIDescriptors = 1 }, func(l *content.Limits) { l.OCIDescriptors = 0 },
			"oci-limit index.json: the index has 1 descriptors; the limit is 0"},
		"blobs": {layouts, func(l *content.Limits) { l.OCIBytes = blobBytes(layout) }, func(l *content.Limits) { l.OCIBytes = blobBytes(layout) - 1 },
			"oci-limit blobs/sha256/"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, form := range test.forms {
				opts := defaults()
				test.within(&opts.Limits)
				noProblems(t, sources[form](opts))
				test.beyond(&opts.Limits)
				index := sources[form](opts)
				lines := problemsOf(index)
				require.Len(t, lines, 1, form)
				require.Contains(t, lines[0], test.want, form)
			}
		})
	}
}

func blobBytes(layout files) (n int64) {
	for name, data := range layout {
		if strings.HasPrefix(name, "blobs/") {
			n += int64(len(data))
		}
	}
	return n
}

func TestLayoutTarEntryLimit(t *testing.T) {
	layout := newEnvelope(layerOf(t)).build(t)
	opts := defaults()
	opts.Limits.Entries = len(layout)
	noProblems(t, stream(t, layout.tar(t), opts))
	opts.Limits.Entries--
	for _, index := range []*content.Index{stream(t, layout.tar(t), opts), open(t, file(t, layout.tar(t)), opts)} {
		require.Equal(t, []string{"oci-limit : the layout has at least 5 entries; the limit is 4"}, problemsOf(index))
	}
}

// A payload may hold large .json files: they are no documents, so they are content like any other.
func TestLargeFilesAreNotKept(t *testing.T) {
	opts := defaults()
	opts.Limits.JSON.DocumentBytes = 10
	members := []member{{name: "large.json", body: strings.Repeat(" ", 11)}, {name: "small.json", body: strings.Repeat(" ", 10)}}
	index := stream(t, layerOf(t, members...), opts)
	noProblems(t, index)
	require.NotContains(t, index.Texts, "large.json")
	require.Contains(t, index.Texts, "small.json")
	e, ok := index.Entry("large.json")
	require.True(t, ok)
	require.EqualValues(t, 11, e.Size)
}

// Which prose is kept must not depend on the order in which it is read.
func TestProseIsKeptAsAWhole(t *testing.T) {
	opts := defaults()
	members := []member{{name: "a.md", body: "12345"}, {name: "b.txt", body: "123"}, {name: "c.json", body: "{}"}}
	reversed := []member{members[2], members[1], members[0]}
	dir := tree(t, map[string]string{"a.md": "12345", "b.txt": "123", "c.json": "{}"})
	for limit, want := range map[int64]int{8: 3, 7: 1} {
		opts.Limits.ProseBytes = limit
		for _, index := range []*content.Index{stream(t, layerOf(t, members...), opts), stream(t, layerOf(t, reversed...), opts), open(t, dir, opts)} {
			noProblems(t, index)
			require.Len(t, index.Texts, want)
			require.Contains(t, index.Texts, "c.json")
		}
	}
}

func TestProblemLimit(t *testing.T) {
	var members []member
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		members = append(members, member{name: name, mode: 0o666})
		files[name] = "-> /"
	}
	opts := defaults()
	opts.Limits.Problems = 5
	require.Len(t, stream(t, layerOf(t, members[:4]...), opts).Problems, 4)
	opts.Limits.Problems = 3
	layout := newEnvelope(layerOf(t, members...)).build(t)
	for _, index := range []*content.Index{
		stream(t, layerOf(t, members...), opts), open(t, layout.directory(t), opts), stream(t, layout.tar(t), opts), open(t, tree(t, files), opts),
	} {
		require.Len(t, index.Problems, 4)
		require.Equal(t, "path-limit : reading stopped at 3 problems, which is the limit; there may be more", problemsOf(index)[0])
	}
}

// A path in an archive may be a megabyte long, and there may be a hundred thousand of them.
func TestProblemsAreShort(t *testing.T) {
	long := strings.Repeat("x/../", 1<<17)
	index := stream(t, layerOf(t, member{name: long}, symlink("l", long), hardlink("h", long), symlink(long+"l", "x")), defaults())
	require.NotEmpty(t, index.Problems)
	for _, p := range index.Problems {
		require.LessOrEqual(t, len(p.Path), 1024)
		require.LessOrEqual(t, len(p.Message), 500)
	}
}

func TestDefaultLimits(t *testing.T) {
	l := content.DefaultLimits()
	require.Equal(t, 100_000, l.Entries)
	require.EqualValues(t, 4<<30, l.ExpandedBytes)
	require.EqualValues(t, 256<<20, l.MetadataBytes)
	require.Equal(t, 1_000, l.OCIDescriptors)
	require.EqualValues(t, 1<<30, l.OCIBytes)
	require.EqualValues(t, 4<<20, l.JSON.DocumentBytes)
	require.Equal(t, 100, l.JSON.Depth)
	require.Equal(t, 1_024, l.JSON.ObjectMembers)
	require.Equal(t, 100_000, l.JSON.DocumentMembers)
}

// Every rule on the form of a suite has a suite that breaks it.
func TestEveryRuleHasAFault(t *testing.T) {
	broken := map[string]bool{}
	note := func(index *content.Index) {
		for _, p := range index.Problems {
			broken[p.Rule.ID] = true
		}
	}
	for _, fault := range archiveFaults(t) {
		note(stream(t, fault.layer, defaults()))
	}
	for _, fault := range envelopeFaults {
		e := newEnvelope(layerOf(t))
		fault.change(e)
		note(stream(t, e.build(t).tar(t), defaults()))
	}
	for _, fault := range directoryFaults {
		dir := goodDirectory(t)
		require.NoError(t, fault.make(dir))
		note(open(t, dir, defaults()))
	}
	opts := defaults()
	opts.Limits.Entries = 0
	note(stream(t, layerOf(t, sample...), opts))

	var ids []string
	for _, rule := range problem.Rules() {
		if rule.Requirement == "AS-PATH-001" || rule.Requirement == "AS-OCI-001" {
			ids = append(ids, rule.ID)
			require.True(t, broken[rule.ID], "nothing breaks the rule %s", rule.ID)
		}
	}
	require.NotEmpty(t, ids)
}
