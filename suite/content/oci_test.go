package content_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

const (
	emptyHex = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	zeros    = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

// envelopeFaults change a good layout so that it breaks one rule. The expectation is the rule, the
// file with line and column if there is one, and a part of the message.
var envelopeFaults = map[string]struct {
	change func(*envelope)
	want   string
}{
	"no marker":                 {func(e *envelope) { delete(e.files, "oci-layout"); e.files["other"] = "" }, "oci-layout-file oci-layout: the file is missing"},
	"marker of another version": {func(e *envelope) { e.files["oci-layout"] = `{"imageLayoutVersion":"1.0.1"}` }, `oci-layout-file oci-layout:1:1: expected {"imageLayoutVersion":"1.0.0"}`},
	"marker with more":          {func(e *envelope) { e.files["oci-layout"] = `{"imageLayoutVersion":"1.0.0","a":1}` }, "oci-layout-file oci-layout:1:1: expected"},
	"marker of another type":    {func(e *envelope) { e.files["oci-layout"] = `{"imageLayoutVersion":1}` }, "oci-layout-file oci-layout:1:1: expected"},
	"marker that is a list":     {func(e *envelope) { e.files["oci-layout"] = `["imageLayoutVersion"]` }, "oci-layout-file oci-layout:1:1: expected"},
	"marker with a doubled name": {func(e *envelope) {
		e.files["oci-layout"] = `{"imageLayoutVersion":"1.0.0","imageLayoutVersion":"1.0.0"}`
	}, "json-duplicate-name oci-layout:1:31"},
	"no index":                           {func(e *envelope) { e.files["index.json"] = "\x00" }, "oci-index index.json: the file is missing; expected the layout's OCI image index"},
	"index that is no JSON":              {func(e *envelope) { e.files["index.json"] = "{\n  nonsense" }, "json-syntax index.json:2:3"},
	"index that is a list":               {func(e *envelope) { e.files["index.json"] = "[]" }, "oci-index index.json:1:1: expected an OCI image index, a JSON object; found a JSON array"},
	"index of another schema":            {func(e *envelope) { e.index["schemaVersion"] = 1 }, `oci-index index.json:1:`},
	"index of another media type":        {func(e *envelope) { e.index["mediaType"] = "application/json" }, `expected the media type "application/vnd.oci.image.index.v1+json"; found "application/json"`},
	"index without manifests":            {func(e *envelope) { delete(e.index, "manifests") }, `oci-index index.json:1:1: expected the array "manifests"`},
	"index with no manifest":             {func(e *envelope) { e.index["manifests"] = []any{} }, "expected exactly one descriptor, of the suite's manifest; found 0"},
	"index with two manifests":           {func(e *envelope) { e.index["manifests"] = []any{e.selected, e.selected} }, "expected exactly one descriptor, of the suite's manifest; found 2"},
	"index with annotations":             {func(e *envelope) { e.index["annotations"] = object{"a": 1} }, "oci-index index.json:1:21: expected an annotation to be a string; found a JSON number"},
	"index with a list of notes":         {func(e *envelope) { e.index["annotations"] = []any{} }, "expected annotations to be a JSON object; found a JSON array"},
	"selects another media type":         {func(e *envelope) { e.selected["mediaType"] = "application/vnd.oci.image.index.v1+json" }, `oci-index index.json:1:`},
	"selects no media type":              {func(e *envelope) { delete(e.selected, "mediaType"); e.selected["mediaType"] = 1 }, `oci-descriptor index.json:1:`},
	"selects another artifact":           {func(e *envelope) { e.selected["artifactType"] = "application/x" }, `expected the artifact type "application/vnd.agentsuite.suite.v1", or none; found "application/x"`},
	"descriptor that is a string":        {func(e *envelope) { e.index["manifests"] = []any{"x"} }, "oci-descriptor index.json:1:15: expected a descriptor, a JSON object; found a JSON string"},
	"manifest that is missing":           {func(e *envelope) { e.selected["digest"] = zeros }, "oci-blob index.json:1:25: the blob blobs/sha256/0000000000000000000000000000000000000000000000000000000000000000 is missing"},
	"manifest of another size":           {func(e *envelope) { e.selected["size"] = 5 }, "bytes; the descriptor says 5"},
	"manifest with a digest in capitals": {func(e *envelope) { e.selected["digest"] = "sha256:" + strings.Repeat("A", 64) }, `oci-descriptor index.json:1:25: expected "digest" to be sha256: and 64 lower-case hexadecimal digits`},
	"manifest with another hash":         {func(e *envelope) { e.selected["digest"] = "sha512:" + strings.Repeat("a", 128) }, `oci-descriptor index.json:1:25: expected "digest"`},
	"manifest with a path for a digest":  {func(e *envelope) { e.selected["digest"] = "sha256:../../oci-layout" }, `oci-descriptor index.json:1:25: expected "digest"`},
	"manifest with a negative size":      {func(e *envelope) { e.selected["size"] = -1 }, `oci-descriptor index.json:1:163: expected "size" to be a number of bytes`},
	"manifest with a fractional size":    {func(e *envelope) { e.selected["size"] = 1.5 }, `expected "size" to be a number of bytes`},
	"manifest with a size in words":      {func(e *envelope) { e.selected["size"] = "5" }, `expected "size" to be a number of bytes`},
	"manifest with urls":                 {func(e *envelope) { e.selected["urls"] = []any{} }, `expected no "urls": every blob lies in the layout`},
	"manifest with other data":           {func(e *envelope) { e.selected["data"] = "e30=" }, `expected "data" to be the blob's bytes in standard base64`},
	"manifest with notes":                {func(e *envelope) { e.selected["annotations"] = object{"a": nil} }, "oci-descriptor index.json:1:35: expected an annotation to be a string; found a JSON null"},
	"manifest of another schema":         {func(e *envelope) { e.manifest["schemaVersion"] = "2" }, `oci-manifest blobs/sha256/`},
	"manifest of another media type":     {func(e *envelope) { e.manifest["mediaType"] = "application/vnd.docker.distribution.manifest.v2+json" }, `expected the media type "application/vnd.oci.image.manifest.v1+json"`},
	"manifest without artifact type":     {func(e *envelope) { delete(e.manifest, "artifactType") }, `expected the artifact type "application/vnd.agentsuite.suite.v1"; found none`},
	"manifest of an image":               {func(e *envelope) { e.manifest["artifactType"] = "application/vnd.oci.image.config.v1+json" }, `expected the artifact type "application/vnd.agentsuite.suite.v1"; found "application/vnd.oci.image.config.v1+json"`},
	"manifest with a subject":            {func(e *envelope) { e.manifest["subject"] = e.layer }, `oci-subject blobs/sha256/`},
	"manifest with no subject":           {func(e *envelope) { e.manifest["subject"] = nil }, `oci-subject blobs/sha256/`},
	"manifest with notes on itself":      {func(e *envelope) { e.manifest["annotations"] = "x" }, `oci-manifest blobs/sha256/`},
	"no config":                          {func(e *envelope) { delete(e.manifest, "config") }, `oci-config blobs/sha256/`},
	"config that is null":                {func(e *envelope) { e.manifest["config"] = nil }, "expected a descriptor, a JSON object; found a JSON null"},
	"config of another media type":       {func(e *envelope) { e.config["mediaType"] = "application/vnd.oci.image.config.v1+json" }, `oci-config blobs/sha256/`},
	"config with content":                {func(e *envelope) { e.manifest["config"] = e.blob("application/vnd.oci.empty.v1+json", `{"a":1}`) }, "expected the OCI empty config, sha256:" + emptyHex + " of 2 bytes; found sha256:"},
	"config of another size":             {func(e *envelope) { e.config["size"] = 3 }, "of 2 bytes; found sha256:" + emptyHex + " of 3 bytes"},
	"config that is missing":             {func(e *envelope) { delete(e.files, "blobs/sha256/"+emptyHex) }, "oci-blob blobs/sha256/"},
	"config with other bytes":            {func(e *envelope) { e.files["blobs/sha256/"+emptyHex] = "[]" }, "oci-blob blobs/sha256/"},
	"config with other data":             {func(e *envelope) { e.config["data"] = "W10=" }, `expected "data" to be the blob's bytes`},
	"no layers":                          {func(e *envelope) { delete(e.manifest, "layers") }, `expected the array "layers"`},
	"empty layers":                       {func(e *envelope) { e.manifest["layers"] = []any{} }, "expected exactly one layer, the content; found 0"},
	"two layers":                         {func(e *envelope) { e.manifest["layers"] = []any{e.layer, e.layer} }, "expected exactly one layer, the content; found 2"},
	"layer of another media type":        {func(e *envelope) { e.layer["mediaType"] = "application/vnd.oci.image.layer.v1.tar+gzip" }, "oci-layer blobs/sha256/"},
	"layer with urls":                    {func(e *envelope) { e.layer["urls"] = []any{"https://example.com"} }, "oci-descriptor blobs/sha256/"},
	"layer with null urls":               {func(e *envelope) { e.layer["urls"] = nil }, "oci-descriptor blobs/sha256/"},
	"layer that is missing":              {func(e *envelope) { e.layer["digest"] = zeros }, "is missing; expected a regular file of the layout"},
	"layer of another size":              {func(e *envelope) { e.layer["size"] = 3 }, "bytes; the descriptor says 3"},
	"layer with other bytes": {func(e *envelope) {
		d := e.layer["digest"].(string)[7:]
		e.files["blobs/sha256/"+d] = string(flip([]byte(e.files["blobs/sha256/"+d]), 20))
	}, "oci-blob blobs/sha256/"},
	"layer that is not compressed": {func(e *envelope) {
		e.manifest["layers"] = []any{e.blob("application/vnd.agentsuite.content.v1.tar+gzip", "plain")}
	}, "archive-gzip : the content layer is not complete gzip data: it does not begin as gzip data does"},
	"layer with a broken archive": {func(e *envelope) {
		e.manifest["layers"] = []any{e.blob("application/vnd.agentsuite.content.v1.tar+gzip", "\x1f\x8bbroken")}
	}, "archive-gzip : the content layer is not complete gzip data"},
	"too much in all":         {func(e *envelope) { e.layer["size"] = 1 << 30 }, "oci-limit blobs/sha256/"},
	"size beyond all":         {func(e *envelope) { e.layer["size"] = 1 << 62 }, "the limit on all blobs together is 1073741824"},
	"index over the limit":    {func(e *envelope) { e.files["index.json"] = strings.Repeat(" ", 4<<20) + "{}" }, "oci-limit index.json: the document has 4194306 bytes; the limit is 4194304"},
	"manifest over the limit": {func(e *envelope) { e.manifest["a"] = strings.Repeat(" ", 4<<20) }, "oci-limit index.json:1:"},
}

func TestEnvelopeFaults(t *testing.T) {
	layer := layerOf(t, sample...)
	for name, test := range envelopeFaults {
		t.Run(name, func(t *testing.T) {
			e := newEnvelope(layer)
			test.change(e)
			layout := e.build(t)
			if layout["index.json"] == "\x00" {
				delete(layout, "index.json")
			}
			want := ""
			for form, index := range map[string]*content.Index{
				"directory": open(t, layout.directory(t), defaults()), "tar": open(t, file(t, layout.tar(t)), defaults()), "stream": stream(t, layout.tar(t), defaults()),
			} {
				if form == "directory" && name == "no marker" {
					continue // that is a directory of content
				}
				require.Len(t, index.Problems, 1, form)
				p := index.Problems[0]
				line := p.Rule.ID + " " + p.Place.String() + ": " + p.Message
				require.Contains(t, line, test.want, form)
				if want == "" {
					want = line
				}
				require.Equal(t, want, line, form)
			}
		})
	}
}

func TestEnvelopeAccepts(t *testing.T) {
	layer := layerOf(t, sample...)
	notes := object{"org.opencontainers.image.title": "x", "": ""}
	for name, change := range map[string]func(*envelope){
		"as it is": func(*envelope) {},
		"media types and notes": func(e *envelope) {
			e.index["mediaType"] = "application/vnd.oci.image.index.v1+json"
			e.index["annotations"] = notes
			e.manifest["annotations"] = notes
			e.selected["annotations"] = notes
			e.layer["annotations"] = notes
			e.config["annotations"] = notes
		},
		"no media type":          func(e *envelope) { delete(e.manifest, "mediaType") },
		"artifact type selected": func(e *envelope) { e.selected["artifactType"] = "application/vnd.agentsuite.suite.v1" },
		"data of the config":     func(e *envelope) { e.config["data"] = "e30=" },
		"data of the layer":      func(e *envelope) { e.layer["data"] = base64.StdEncoding.EncodeToString(layer) },
		"members of later OCI": func(e *envelope) {
			e.index["x"] = 1
			e.manifest["x"] = object{}
			e.selected["platform"] = object{"os": "linux", "architecture": "amd64"}
			e.layer["x"] = []any{}
		},
		"blobs of others": func(e *envelope) {
			e.blob("", "unreferenced")
			e.blob("", string(layerOf(t, member{name: "/bad"})))
			e.files["blobs/sha256/odd"] = "x"
			e.files["blobs/sha512/x"] = "y"
			e.files["README"] = "z"
		},
		"white space": func(e *envelope) { e.files["oci-layout"] = "\n{ \"imageLayoutVersion\" :\t\"1.0.0\" }\n" },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnvelope(layer)
			change(e)
			layout := e.build(t)
			for _, index := range []*content.Index{
				open(t, layout.directory(t), defaults()), open(t, file(t, layout.tar(t)), defaults()), stream(t, layout.tar(t), defaults()),
			} {
				noProblems(t, index)
				requireEqual(t, sampleEntries(), index.Entries)
				require.Equal(t, digest.FromString(jsonOf(t, e.manifest)), index.SuiteDigest)
			}
		})
	}
}

// A layer that is not what the manifest says is not the suite: nothing of it is told.
func TestUnverifiedLayerIsNotUsed(t *testing.T) {
	e := newEnvelope(layerOf(t, sample...))
	hex := e.layer["digest"].(string)[7:]
	e.files["blobs/sha256/"+hex] = string(layerOf(t, append(sample, member{name: "/bad"})...))
	e.layer["size"] = len(e.files["blobs/sha256/"+hex])
	for _, opts := range []content.Options{defaults(), {Limits: content.DefaultLimits(), Extract: filepath.Join(t.TempDir(), "content")}} {
		for _, index := range []*content.Index{
			open(t, e.build(t).directory(t), opts), open(t, file(t, e.build(t).tar(t)), opts), stream(t, e.build(t).tar(t), opts),
		} {
			require.Len(t, index.Problems, 1)
			require.Equal(t, "oci-blob", index.Problems[0].Rule.ID)
			require.Empty(t, index.Entries)
		}
		if opts.Extract != "" {
			require.Empty(t, snapshot(t, filepath.Dir(opts.Extract)))
		}
	}
}

func TestLayoutDirectoryOfOtherThings(t *testing.T) {
	layout := newEnvelope(layerOf(t, sample...)).build(t)
	outside := layout.directory(t)
	for name, test := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"marker that is a symlink": {func(dir string) error {
			return replace(filepath.Join(dir, "oci-layout"), func(p string) error { return os.Symlink(filepath.Join(outside, "oci-layout"), p) })
		}, "oci-layout-file oci-layout: the file is a symlink"},
		"index that is a directory": {func(dir string) error {
			return replace(filepath.Join(dir, "index.json"), func(p string) error { return os.Mkdir(p, 0o755) })
		}, "oci-index index.json: the file is a directory"},
		"index that is a FIFO": {func(dir string) error {
			return replace(filepath.Join(dir, "index.json"), mkfifo)
		}, "oci-index index.json: the file is a FIFO"},
		"blob that is a symlink": {func(dir string) error {
			return replace(filepath.Join(dir, "blobs/sha256", emptyHex), func(p string) error { return os.Symlink(filepath.Join(outside, "blobs/sha256", emptyHex), p) })
		}, "is a symlink; expected a regular file of the layout"},
		"blobs that are elsewhere": {func(dir string) error {
			return replace(filepath.Join(dir, "blobs"), func(p string) error { return os.Symlink(filepath.Join(outside, "blobs"), p) })
		}, "lies below blobs, which is a symlink; expected a regular file of the layout"},
		"no blobs": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "blobs")) }, "is missing; expected a regular file of the layout"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := layout.directory(t)
			require.NoError(t, test.change(dir))
			lines := problemsOf(open(t, dir, defaults()))
			require.Len(t, lines, 1)
			require.Contains(t, lines[0], test.want)
		})
	}
}

func replace(path string, with func(string) error) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return with(path)
}

func TestLayoutTarAccepts(t *testing.T) {
	layout := newEnvelope(layerOf(t, sample...)).build(t)
	var sorted []member
	for _, name := range layout.names() {
		sorted = append(sorted, member{name: name, body: layout[name]})
	}
	change := func(f func(*member)) (changed []member) {
		for _, m := range sorted {
			f(&m)
			changed = append(changed, m)
		}
		return changed
	}
	reversed := change(func(*member) {})
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	for name, members := range map[string][]member{
		"sorted":           sorted,
		"reversed":         reversed,
		"with a prefix":    append([]member{{name: "./"}, {name: "./blobs/"}, {name: "./blobs/sha256/"}}, change(func(m *member) { m.name = "./" + m.name })...),
		"with directories": append([]member{{name: "blobs/"}, {name: "blobs/sha256/"}}, sorted...),
		"with times":       change(func(m *member) { m.mtime = fixedTime }),
		"with owners":      change(func(m *member) { m.uid, m.mode = 1000, 0o666 }),
		"with other things": append([]member{symlink("manifest.json", "index.json"), {name: "fifo", typ: tar.TypeFifo}, {name: "pax", typ: tar.TypeXGlobalHeader, raw: func(h *tar.Header) {
			*h = tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax", PAXRecords: map[string]string{"comment": "x"}}
		}}}, sorted...),
	} {
		t.Run(name, func(t *testing.T) {
			data := tarOf(t, members...)
			for _, index := range []*content.Index{open(t, file(t, data), defaults()), stream(t, data, defaults())} {
				noProblems(t, index)
				requireEqual(t, sampleEntries(), index.Entries)
			}
		})
	}
}

func TestLayoutTarFaults(t *testing.T) {
	layout := newEnvelope(layerOf(t, sample...)).build(t)
	good := layout.tar(t)
	with := func(members ...member) []byte {
		for _, name := range layout.names() {
			members = append(members, member{name: name, body: layout[name]})
		}
		return tarOf(t, members...)
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":          {nil, "oci-layout-file oci-layout: the file is missing"},
		"no tar":           {[]byte(strings.Repeat("no tar ", 200)), "archive-tar : the archive cannot be read at its beginning"},
		"short":            {[]byte("x"), "archive-tar : the archive ends at its beginning"},
		"a content tar":    {tarOf(t, sample...), "oci-layout-file oci-layout: the file is missing; expected an OCI image layout (content that comes as an archive is compressed with gzip)"},
		"cut in a header":  {good[:bytes.Index(good, []byte("oci-layout"))+10], `archive-tar index.json: the archive ends after the entry "index.json" without its end marker`},
		"cut in a blob":    {good[:bytes.Index(good, []byte(`{"artifactType`))+5], "archive-tar blobs/sha256/"},
		"absolute path":    {with(member{name: "/x"}), "path-unsafe /x"},
		"parent":           {with(member{name: "../x"}), "path-unsafe ../x"},
		"parent of blobs":  {with(member{name: "blobs/sha256/../../x"}), "path-unsafe blobs/sha256/../../x"},
		"doubled file":     {with(member{name: "index.json", body: "{}"}), "path-duplicate index.json"},
		"doubled by a dot": {with(member{name: "./oci-layout", body: "{}"}), "path-duplicate oci-layout"},
		"blob as symlink":  {with(symlink("blobs/sha256/"+emptyHex, "x")), "path-duplicate blobs/sha256/" + emptyHex},
	} {
		t.Run(name, func(t *testing.T) {
			for form, index := range map[string]*content.Index{"file": open(t, file(t, test.data), defaults()), "stream": stream(t, test.data, defaults())} {
				lines := problemsOf(index)
				require.NotEmpty(t, lines, form)
				require.Contains(t, strings.Join(lines, "\n"), test.want, form)
				require.Equal(t, content.FormOCILayoutTar, index.Form)
			}
		})
	}
}

// What a stream brings before it can be known what it is for must not fill the memory.
func TestStreamKeepsLittle(t *testing.T) {
	limits := content.DefaultLimits()
	limits.MetadataBytes = 100
	big := layerOf(t, member{name: "a.json", body: strings.Repeat(" ", 99)}, member{name: "b.txt", body: "12"})
	e := newEnvelope(big)
	e.files["blobs/sha256/!"] = string(layerOf(t, member{name: "a.json", body: strings.Repeat(" ", 99)}, member{name: "b.txt", body: "12"}))
	layout := e.build(t)
	noProblems(t, open(t, file(t, layout.tar(t)), content.Options{Limits: limits}))

	index := stream(t, layout.tar(t), content.Options{Limits: limits})
	require.Contains(t, strings.Join(problemsOf(index), "\n"), "oci-limit index.json: the stream brings more than is kept")
}
