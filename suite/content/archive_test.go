package content_test

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

func symlink(name, target string) member {
	return member{name: name, typ: tar.TypeSymlink, link: target}
}

func hardlink(name, target string) member { return member{name: name, typ: tar.TypeLink, link: target} }

// breakouts are archives that would write outside of where they are extracted, or read from there,
// with an extractor that trusts them. Victims lie in the directory in which the extraction takes place.
var breakouts = map[string][]member{
	"absolute file":                         {{name: "/victim", body: "x"}},
	"absolute directory":                    {{name: "/victim/"}},
	"double slash":                          {{name: "//victim", body: "x"}},
	"parent":                                {{name: "../victim", body: "x"}},
	"parent alone":                          {{name: "..", body: "x"}},
	"parent directory":                      {{name: "../"}},
	"parent in the middle":                  {{name: "a/../../victim", body: "x"}},
	"parent that returns":                   {{name: "a/../b", body: "x"}},
	"parent behind a dot":                   {{name: "./../victim", body: "x"}},
	"parent at the end":                     {{name: "a/"}, {name: "a/.."}},
	"deep parents":                          {{name: "a/b/c/../../../../victim", body: "x"}},
	"backslashes":                           {{name: `..\victim`, body: "x"}},
	"drive":                                 {{name: `C:\victim`, body: "x"}},
	"dot":                                   {{name: "."}},
	"root entry":                            {{name: "./"}},
	"root entry that lets everyone in":      {{name: "./", mode: 0o777}},
	"slash":                                 {{name: "/"}},
	"dot prefix":                            {{name: "./a", body: "x"}},
	"directory with two slashes":            {{name: "a//"}},
	"symlink to an absolute path":           {symlink("a", "/victim")},
	"symlink to the root":                   {symlink("a", "/")},
	"symlink to a parent":                   {symlink("a", "..")},
	"symlink to a parent's child":           {symlink("a", "../victim")},
	"symlink out of a directory":            {{name: "d/"}, symlink("d/a", "../../victim")},
	"symlink that goes far up":              {symlink("a", strings.Repeat("../", 40)+"etc/passwd")},
	"symlink that goes up in the middle":    {symlink("a", "b/../../victim")},
	"symlink to the content root":           {{name: "d/"}, symlink("d/a", "..")},
	"symlink to itself as the content root": {symlink("a", ".")},
	"symlink with a backslash":              {symlink("a", `..\victim`)},
	"symlink to nothing":                    {symlink("a", "")},
	"symlink at the root":                   {symlink(".", "victim")},
	"symlink with a parent's name":          {symlink("../a", "victim")},
	"file through a symlink":                {{name: "d/"}, symlink("a", "d"), {name: "a/x", body: "x"}},
	"file through a symlink outside":        {symlink("a", ".."), {name: "a/victim", body: "x"}},
	"file through an absolute symlink":      {symlink("a", "/"), {name: "a/victim", body: "x"}},
	"file through a symlink that is late":   {{name: "a/x", body: "x"}, symlink("a", "d")},
	"file through a chain of symlinks":      {{name: "d/"}, symlink("d/up", ".."), symlink("a", "d/up"), {name: "a/victim", body: "x"}},
	"file over a symlink":                   {{name: "d", body: "d"}, symlink("a", "d"), {name: "a", body: "x"}},
	"file over a symlink outside":           {symlink("a", "../victim"), {name: "a", body: "x"}},
	"directory over a symlink":              {symlink("a", ".."), {name: "a/"}, {name: "a/victim", body: "x"}},
	"symlink over a directory":              {{name: "a/"}, symlink("a", "..")},
	"symlink over a file":                   {{name: "a", body: "x"}, symlink("a", "../victim")},
	"symlink through a symlink":             {{name: "d/"}, symlink("a", "d"), symlink("a/b", "../../victim")},
	"file below a file":                     {{name: "a", body: "x"}, {name: "a/b", body: "x"}},
	"hardlink outside":                      {hardlink("a", "../victim")},
	"hardlink to an absolute path":          {hardlink("a", "/etc/passwd")},
	"hardlink that is not clean":            {{name: "d/x", body: "x"}, hardlink("a", "d/../../victim")},
	"hardlink with a dot":                   {{name: "x", body: "x"}, hardlink("a", "./x")},
	"hardlink with a backslash":             {hardlink("a", `..\victim`)},
	"hardlink to nothing":                   {hardlink("a", "")},
	"hardlink to itself":                    {hardlink("a", "a")},
	"hardlink to a symlink":                 {symlink("s", "x"), hardlink("a", "s")},
	"hardlink to a symlink outside":         {symlink("s", "../victim"), hardlink("a", "s"), {name: "a", body: "x"}},
	"hardlink through a symlink":            {symlink("s", ".."), hardlink("a", "s/victim")},
	"hardlink to a directory":               {{name: "d/"}, hardlink("a", "d")},
	"hardlink to a hardlink":                {{name: "x", body: "x"}, hardlink("y", "x"), hardlink("a", "y")},
	"hardlink to what comes later":          {hardlink("a", "x"), {name: "x", body: "x"}},
	"hardlink over a file":                  {{name: "x", body: "x"}, {name: "a", body: "a"}, hardlink("a", "x")},
	"file over a hardlink":                  {{name: "x", body: "x"}, hardlink("a", "x"), {name: "a", body: "y"}},
	"below a hardlink":                      {{name: "x", body: "x"}, hardlink("a", "x"), {name: "a/b", body: "y"}},
	"hardlink with another mode":            {{name: "x", body: "x"}, {name: "a", typ: tar.TypeLink, link: "x", mode: 0o755}},
	"hardlink with another owner":           {{name: "x", body: "x"}, {name: "a", typ: tar.TypeLink, link: "x", uid: 7}},
	"doubled file":                          {{name: "a", body: "x"}, {name: "a", body: "y"}},
	"doubled directory":                     {{name: "a/"}, {name: "a/"}},
	"file and directory":                    {{name: "a", body: "x"}, {name: "a/"}},
	"case":                                  {{name: "a", body: "x"}, {name: "A", body: "y"}},
	"character device":                      {{name: "a", typ: tar.TypeChar, raw: func(h *tar.Header) { h.Devmajor, h.Devminor = 1, 3 }}},
	"block device":                          {{name: "a", typ: tar.TypeBlock, raw: func(h *tar.Header) { h.Devmajor, h.Devminor = 8, 0 }}},
	"FIFO":                                  {{name: "a", typ: tar.TypeFifo}},
	"contiguous file":                       {{name: "a", typ: tar.TypeCont}},
	"unknown type":                          {{name: "a", typ: 'Z'}},
	"set-uid file":                          {{name: "a", mode: 0o4755}},
	"set-gid file":                          {{name: "a", mode: 0o2755}},
	"sticky file":                           {{name: "a", mode: 0o1755}},
	"sticky directory":                      {{name: "a/", mode: 0o1777}},
	"set-gid directory":                     {{name: "a/", mode: 0o2755}},
	"set-uid symlink":                       {{name: "a", typ: tar.TypeSymlink, link: "b", mode: 0o4777}},
	"group-writable file":                   {{name: "a", mode: 0o664}},
	"world-writable file":                   {{name: "a", mode: 0o646}},
	"whiteout through a parent":             {{name: "../.wh.victim", body: ""}},
	"whiteout of a directory":               {{name: "../.wh..wh..opq", body: ""}},
	"capabilities":                          {{name: "a", pax: map[string]string{"SCHILY.xattr.security.capability": "\x01"}}},
	"access control list":                   {{name: "a", pax: map[string]string{"SCHILY.acl.access": "user::rwx"}}},
	"attribute by libarchive":               {{name: "a", pax: map[string]string{"LIBARCHIVE.xattr.user.x": "eA=="}}},
	"SELinux context":                       {{name: "a", pax: map[string]string{"RHT.security.selinux": "x"}}},
	"no UTF-8":                              {{name: "a\xff", body: "x", format: tar.FormatGNU}},
	"symlink with no UTF-8":                 {{name: "a", typ: tar.TypeSymlink, link: "\xff", format: tar.FormatGNU}},
	"long path":                             {{name: strings.Repeat("d/", 600) + "x", body: "x"}},
	"long symlink":                          {symlink("a", strings.Repeat("d/", 600)+"x")},
}

func TestBreakouts(t *testing.T) {
	for name, members := range breakouts {
		t.Run(name, func(t *testing.T) {
			layer := layerOf(t, members...)
			layout := newEnvelope(layer).build(t)
			for form, path := range map[string]string{"archive": file(t, layer), "layout": layout.directory(t), "layout tar": file(t, layout.tar(t))} {
				victims := t.TempDir()
				opts := defaults()
				opts.Extract = filepath.Join(victims, "inner", "content")
				write(t, filepath.Join(victims, "victim"), "unharmed")
				write(t, filepath.Join(victims, "inner", "victim"), "unharmed")
				before := snapshot(t, victims)

				index := open(t, path, opts)
				require.NotEmpty(t, index.Problems, form)
				for _, p := range index.Problems {
					require.Equal(t, problem.Path, p.Rule.Category, form)
				}
				require.Equal(t, before, snapshot(t, victims), form)
			}
		})
	}
}

// The archives of other writers, and of other habits, that are as good as ours.
func TestAccepts(t *testing.T) {
	plain := tarOf(t, sample...)
	gz := func(change func(*gzip.Writer), parts ...[]byte) []byte {
		var b bytes.Buffer
		for _, part := range parts {
			w := gzip.NewWriter(&b)
			if change != nil {
				change(w)
			}
			_, err := w.Write(part)
			require.NoError(t, err)
			require.NoError(t, w.Close())
		}
		return b.Bytes()
	}
	withFormat := func(format tar.Format) []byte {
		var members []member
		for _, m := range sample {
			if m.format = format; strings.Contains(m.name, "Größe") {
				m.format = tar.FormatPAX // USTAR has no such names
			}
			members = append(members, m)
		}
		return layerOf(t, members...)
	}
	for name, layer := range map[string][]byte{
		"as we write it":         layerOf(t, sample...),
		"USTAR":                  withFormat(tar.FormatUSTAR),
		"PAX":                    withFormat(tar.FormatPAX),
		"GNU":                    withFormat(tar.FormatGNU),
		"padded to a record":     gz(nil, plain, make([]byte, 10240-len(plain)%10240)),
		"padded by a megabyte":   gz(nil, plain, make([]byte, 1<<20)),
		"odd padding":            gz(nil, plain, make([]byte, 7)),
		"a member for each part": gz(nil, plain[:512], plain[512:1000], plain[1000:]),
		"an empty member":        gz(nil, plain, nil),
		"a name in the header":   gz(func(w *gzip.Writer) { w.Name, w.Comment, w.Extra = "suite.tar", "no time", []byte("x") }, plain),
		"another system":         gz(func(w *gzip.Writer) { w.OS = 3 }, plain),
	} {
		t.Run(name, func(t *testing.T) {
			index := stream(t, layer, defaults())
			noProblems(t, index)
			requireEqual(t, sampleEntries(), index.Entries)
		})
	}

	for name, members := range map[string][]member{
		"nothing":                           {},
		"no directories":                    {{name: "a/b/c"}, {name: "d/e"}},
		"directories after what is in them": {{name: "a/b/c"}, {name: "a/b/"}, {name: "a/"}},
		"not sorted":                        {{name: "b"}, {name: "a"}},
		"owners":                            {{name: "a", uid: 1000, gid: 1000}},
		"names of owners":                   {{name: "a", raw: func(h *tar.Header) { h.Uname, h.Gname = "root", "wheel" }}},
		"large owners":                      {{name: "a", uid: 1 << 31, gid: 1<<32 - 1, format: tar.FormatGNU}},
		"directory without a slash":         {{name: "a", typ: tar.TypeDir}},
		"open directory":                    {{name: "a/", mode: 0o777}},
		"closed directory":                  {{name: "a/", mode: 0o700}},
		"symlink with another mode":         {{name: "a", typ: tar.TypeSymlink, link: "b", mode: 0o755}},
		"symlink to nothing":                {symlink("a", "b")},
		"symlink to a sibling":              {{name: "d/"}, symlink("d/a", "../e")},
		"symlink that is not clean":         {symlink("a", "./b//c/")},
		"circle of symlinks":                {symlink("a", "b"), symlink("b", "a")},
		"hardlinks":                         {{name: "x", body: "x"}, hardlink("a", "x"), hardlink("b", "x")},
		"long names":                        {{name: strings.Repeat("d", 200) + "/" + strings.Repeat("e", 200)}},
		"long names by GNU":                 {{name: strings.Repeat("d", 200) + "/" + strings.Repeat("e", 200), format: tar.FormatGNU}},
		"longest path":                      {{name: strings.Repeat("d/", 511) + "xy"}},
		"type bits in the mode":             {{name: "a", mode: 0o100644}},
		"spaces and odd names":              {{name: " a b "}, {name: "-rf"}, {name: "a\nb"}, {name: "..."}, {name: "a:b"}},
		"a comment":                         {{name: "a", pax: map[string]string{"comment": "hello"}}},
		"a vendor's record":                 {{name: "a", pax: map[string]string{"VENDOR.thing": "1"}}},
		"normal forms that differ":          {{name: "\u00e9"}, {name: "e\u0301"}},
		"similar names":                     {{name: "a/"}, {name: "a-b"}, {name: "a/b"}, {name: "a.b"}, {name: "a0"}},
		"whiteout-like names":               {{name: ".wh.a"}},
		"build files are content here":      {{name: "Dockerfile", body: "FROM x"}, {name: ".dockerignore", body: "*"}, {name: "README.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			index := stream(t, layerOf(t, members...), defaults())
			noProblems(t, index)
			require.Len(t, index.Entries, len(members))
			require.IsIncreasing(t, pathsOf(index))
		})
	}
}

// The oldest archives have no type for regular files, and none for directories but the slash.
func TestAcceptsV7(t *testing.T) {
	old := func(name string) []byte {
		return header(func(b []byte) {
			copy(b, name)
			clear(b[156:])
		})
	}
	index := stream(t, gzipOf(t, concat(old("d/"), old("d/file"), make([]byte, 1024))), defaults())
	noProblems(t, index)
	require.Equal(t, []string{"d", "d/file"}, pathsOf(index))
	require.Equal(t, content.Directory, index.Entries[0].Type)
	require.Equal(t, content.File, index.Entries[1].Type)
}

func pathsOf(index *content.Index) []string {
	paths := []string{}
	for _, e := range index.Entries {
		paths = append(paths, e.Path)
	}
	return paths
}

// header makes one block of a tar archive by hand, for what the standard library would not write.
func header(change func(block []byte)) []byte {
	b := make([]byte, 512)
	copy(b, "a")
	copy(b[100:], "0000644\x00")
	copy(b[108:], "0000000\x00")
	copy(b[116:], "0000000\x00")
	copy(b[124:], "00000000000\x00")
	copy(b[136:], "00000000000\x00")
	b[156] = '0'
	copy(b[257:], "ustar\x0000")
	change(b)
	checksum(b)
	return b
}

// checksum makes the checksum of a header right.
func checksum(b []byte) {
	copy(b[148:156], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
}

func concat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// archiveFaults are content layers that break one rule each, beyond the breakouts.
func archiveFaults(tb testing.TB) map[string]struct {
	layer []byte
	want  string // rule, place and a part of the message
} {
	var (
		one   = tarOf(tb, member{name: "a", body: "hello"})
		good  = gzipOf(tb, one)
		end   = make([]byte, 1024)
		epoch = time.Unix(0, 0)
	)
	timed := func(seconds uint32, data []byte) []byte {
		data = bytes.Clone(data)
		binary.LittleEndian.PutUint32(data[4:], seconds)
		return data
	}
	pax := func(record string) []byte {
		h := header(func(b []byte) {
			b[156] = 'x'
			copy(b[124:], "00000000")
			copy(b[132:], []byte{'0' + byte(len(record)>>6), '0' + byte(len(record)>>3&7), '0' + byte(len(record)&7)})
		})
		return concat(h, []byte(record), make([]byte, 512-len(record)))
	}
	plain := header(func([]byte) {})
	return map[string]struct {
		layer []byte
		want  string
	}{
		"gzip time":                     {timed(1, good), "archive-gzip : the header of gzip member 1 records a time"},
		"gzip time in a later member":   {concat(good, timed(1700000000, gzipOf(tb, nil))), "archive-gzip : the header of gzip member 2 records a time"},
		"gzip checksum":                 {flip(good, -8), "archive-gzip : the content layer is not complete gzip data: gzip: invalid checksum"},
		"gzip length":                   {flip(good, -1), "archive-gzip : the content layer is not complete gzip data: gzip: invalid checksum"},
		"gzip cut":                      {good[:len(good)-1], "archive-gzip : the content layer is not complete gzip data: unexpected EOF"},
		"gzip cut in the middle":        {good[:len(good)/2], "archive-gzip : the content layer is not complete gzip data: unexpected EOF"},
		"gzip cut in the header":        {good[:5], "archive-gzip : the content layer is not complete gzip data: unexpected EOF"},
		"bytes behind gzip":             {concat(good, []byte{0}), "archive-gzip : the content layer is not complete gzip data: bytes that are no gzip data follow its member 1"},
		"garbage behind gzip":           {concat(good, []byte("garbage")), "archive-gzip : the content layer is not complete gzip data: bytes that are no gzip data follow"},
		"half a member behind":          {concat(good, good[:4]), "archive-gzip : the content layer is not complete gzip data: unexpected EOF"},
		"member of an unknown method":   {concat(good, []byte("\x1f\x8b\x07\x00\x00\x00\x00\x00\x00\xff")), "archive-gzip : the content layer is not complete gzip data: gzip: invalid header"},
		"no archive":                    {gzipOf(tb, []byte(strings.Repeat("no tar ", 200))), "archive-tar : the archive cannot be read at its beginning"},
		"nothing in it":                 {gzipOf(tb, nil), "archive-tar : the archive ends without the two zero blocks"},
		"no end":                        {gzipOf(tb, one[:1024]), "archive-tar a: the archive ends without the two zero blocks"},
		"half an end":                   {gzipOf(tb, one[:1024+512]), "archive-tar a: the archive ends without the two zero blocks"},
		"no end behind zeros":           {gzipOf(tb, concat(header(func(b []byte) { copy(b[124:], "00000002000") }), make([]byte, 1024))), "archive-tar a: the archive ends without the two zero blocks"},
		"no padding and no end":         {gzipOf(tb, one[:512+5]), "archive-tar a: the archive ends without the two zero blocks"},
		"cut in a file":                 {gzipOf(tb, one[:512+3]), "archive-tar a: the archive ends after the entry \"a\" without its end marker"},
		"cut in a header":               {gzipOf(tb, one[:100]), "archive-tar : the archive ends at its beginning"},
		"one zero block in between":     {gzipOf(tb, concat(one[:1024], make([]byte, 512), one)), "archive-tar a: the archive cannot be read after the entry \"a\""},
		"data behind the end":           {gzipOf(tb, concat(one, []byte("x"))), "archive-tar : data follows the end of the archive"},
		"an archive behind the end":     {gzipOf(tb, concat(one, one)), "archive-tar : data follows the end of the archive"},
		"data far behind the end":       {gzipOf(tb, concat(one, make([]byte, 1<<20), []byte{1})), "archive-tar : data follows the end of the archive"},
		"header for no entry":           {gzipOf(tb, concat(one[:1024], pax("10 path=b\n"), end)), "archive-tar a: the archive ends with an extended header that no entry follows"},
		"bad checksum":                  {gzipOf(tb, concat(flip(plain, 0), end)), "archive-tar : the archive cannot be read at its beginning"},
		"bad PAX record":                {gzipOf(tb, concat(pax("99 path=b\n"), plain, end)), "archive-tar : the archive cannot be read at its beginning"},
		"directory with a size":         {gzipOf(tb, concat(header(func(b []byte) { b[156] = '5'; b[134] = '1' }), end)), "archive-tar a: the entry is a directory that states a size"},
		"symlink with a size":           {gzipOf(tb, concat(header(func(b []byte) { b[156] = '2'; b[157] = 'b'; b[134] = '1' }), end)), "archive-tar a: the entry is a symlink that states a size"},
		"negative owner":                {gzipOf(tb, concat(header(func(b []byte) { copy(b[108:], "\xff\xff\xff\xff\xff\xff\xff\xff") }), end)), "archive-tar a: the owner -1:0"},
		"mode out of range":             {gzipOf(tb, concat(header(func(b []byte) { copy(b[100:], "1000644\x00") }), end)), "path-mode a: mode 01000644 is no file mode"},
		"modified at some time":         {layerOf(tb, member{name: "a", mtime: time.Unix(1700000000, 0)}), "path-time a: the entry was modified at 2023-11-14T22:13:20Z; expected the Unix epoch"},
		"modified before the epoch":     {layerOf(tb, member{name: "a", mtime: time.Unix(-1, 0), format: tar.FormatPAX}), "path-time a: the entry was modified at 1969-12-31T23:59:59Z"},
		"modified within a second":      {layerOf(tb, member{name: "a", mtime: time.Unix(0, 1000), format: tar.FormatPAX}), "path-time a: the entry was modified at 1970-01-01T00:00:00.000001Z"},
		"modified within a nanosecond":  {gzipOf(tb, concat(pax("24 mtime=0.000000000001\n"), plain, end)), "path-time a: the entry was modified at 0.000000000001 seconds"},
		"accessed":                      {layerOf(tb, member{name: "a", format: tar.FormatPAX, raw: func(h *tar.Header) { h.AccessTime = time.Unix(5, 0) }}), "path-time a: the entry records an access time"},
		"accessed at the epoch":         {layerOf(tb, member{name: "a", format: tar.FormatPAX, raw: func(h *tar.Header) { h.AccessTime = epoch }}), "path-time a: the entry records an access time"},
		"accessed, by GNU":              {layerOf(tb, member{name: "a", format: tar.FormatGNU, raw: func(h *tar.Header) { h.AccessTime = time.Unix(5, 0) }}), "path-time a: the entry records an access time"},
		"changed":                       {layerOf(tb, member{name: "a", format: tar.FormatPAX, raw: func(h *tar.Header) { h.ChangeTime = time.Unix(5, 0) }}), "path-time a: the entry records a change time"},
		"many that were modified":       {layerOf(tb, member{name: "a", mtime: time.Unix(1, 0)}, member{name: "b", mtime: time.Unix(2, 0)}), "path-time a: the entry was modified at 1970-01-01T00:00:01Z (so do other entries); expected"},
		"global header":                 {gzipOf(tb, concat(tarGlobal(tb), one)), "path-type pax_global_header: the entry is a global extended header"},
		"sparse file, by GNU":           {gzipOf(tb, concat(header(func(b []byte) { b[156] = 'S'; copy(b[257:], "ustar  \x00") }), end)), "path-type a: the entry is a sparse file"},
		"sparse file, by PAX":           {gzipOf(tb, concat(pax("22 GNU.sparse.major=9\n"), plain, end)), "path-type a: the entry is a sparse file"},
		"case":                          {layerOf(tb, member{name: "Straße/x"}, member{name: "STRASSE/X"}), `path-case-collision Straße/x: the path equals "STRASSE/X" but for case`},
		"case of a Kelvin":              {layerOf(tb, member{name: "\u212a"}, member{name: "k"}), `path-case-collision ` + "\u212a" + `: the path equals "k" but for case`},
		"parent that is a file":         {layerOf(tb, member{name: "a/b"}, member{name: "a-"}, member{name: "a"}), `path-parent a/b: "a" is a file; expected a directory`},
		"grandparent that is a symlink": {layerOf(tb, member{name: "a/b/c"}, symlink("a", "x")), `path-parent a/b/c: "a" is a symlink; expected a directory`},
		"parent that is a hardlink":     {layerOf(tb, member{name: "x"}, hardlink("a", "x"), member{name: "a/b"}), `path-parent a/b: "a" is a hardlink; expected a directory`},
		"doubled path":                  {layerOf(tb, member{name: "a"}, member{name: "a"}), "path-duplicate a: the path occurs twice"},
		"dot prefix":                    {layerOf(tb, member{name: "./"}, member{name: "./a"}, member{name: "./b/"}, hardlink("./c", "./a")), `path-unsafe ./: the entry "./" begins with "./" (so do other entries); expected paths as they are below the content root`},
		"unsafe path":                   {layerOf(tb, member{name: "a//b"}), `path-unsafe a//b: "a//b" is no content path: it is not clean`},
		"unsafe symlink":                {layerOf(tb, symlink("a", "/x")), `path-symlink a: the symlink's target "/x" is refused: it is absolute`},
		"unsafe hardlink":               {layerOf(tb, hardlink("a", "x")), `path-hardlink a: the hardlink names "x", which is no earlier entry`},
		"attribute":                     {layerOf(tb, member{name: "a", pax: map[string]string{"SCHILY.xattr.user.x": "1"}}), `path-attribute a: the entry has the extended attribute "SCHILY.xattr.user.x"`},
		"file with a slash":             {gzipOf(tb, concat(header(func(b []byte) { b[1] = '/' }), end)), `path-unsafe a/: "a/" is no content path: it is not clean`},
		"set-uid":                       {layerOf(tb, member{name: "a", mode: 0o4755}), "path-mode a: mode 4755 has a set-id or sticky bit"},
		"writable":                      {layerOf(tb, member{name: "a", mode: 0o666}), "path-mode a: mode 0666 lets group or others write"},
	}
}

func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[(at+len(data))%len(data)] ^= 0xff
	return data
}

func tarGlobal(tb testing.TB) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	require.NoError(tb, w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "x"}}))
	require.NoError(tb, w.Flush())
	return b.Bytes()
}

func TestArchiveFaults(t *testing.T) {
	for name, test := range archiveFaults(t) {
		t.Run(name, func(t *testing.T) {
			index := stream(t, test.layer, defaults())
			lines := problemsOf(index)
			require.Len(t, lines, 1)
			require.Contains(t, lines[0], test.want)
		})
	}
}

// One fault must not hide another, whatever form they travel in.
func TestArchiveFaultsTogether(t *testing.T) {
	layer := layerOf(t,
		member{name: "/a"},
		member{name: "b", mode: 0o666},
		member{name: "c", typ: tar.TypeFifo},
		symlink("d", ".."),
		hardlink("e", "none"),
		member{name: "good.json", body: "{}"},
		member{name: "b", body: "again"},
		member{name: "B"},
		member{name: "b/f", mtime: time.Unix(1, 0)},
	)
	want := []string{
		`path-unsafe /a: "/a" is no content path: it is absolute`,
		`path-case-collision B: the path equals "b" but for case; expected paths that differ by more`,
		`path-duplicate b: the path occurs twice; expected every path once`,
		`path-mode b: mode 0666 lets group or others write; expected that only the owner may (chmod go-w)`,
		`path-parent b/f: "b" is a file; expected a directory, since this entry lies below it`,
		`path-time b/f: the entry was modified at 1970-01-01T00:00:01Z; expected the Unix epoch as its only time (tar --mtime=@0)`,
		`path-type c: the entry is a FIFO; expected a regular file, a directory, a symlink or a hardlink`,
		`path-symlink d: the symlink's target ".." is refused: it leads out of the content root; expected a relative path that stays below the content root`,
		`path-hardlink e: the hardlink names "none", which is no earlier entry; expected the path of an earlier regular file`,
	}
	layout := newEnvelope(layer).build(t)
	for _, index := range []*content.Index{
		stream(t, layer, defaults()), open(t, layout.directory(t), defaults()), stream(t, layout.tar(t), defaults()),
	} {
		require.Equal(t, want, problemsOf(index))
		require.Equal(t, "{}", string(index.Texts["good.json"]), "what is good is there all the same")
	}
}

// A prefix that all entries have is one fault, and hides no others.
func TestDotPrefix(t *testing.T) {
	var dotted []member
	for _, m := range append([]member{{name: ""}}, sample...) {
		m.name = "./" + m.name
		dotted = append(dotted, m)
	}
	index := stream(t, layerOf(t, append(dotted, member{name: "./tools/open", mode: 0o666})...), defaults())
	require.Equal(t, []string{
		`path-unsafe ./: the entry "./" begins with "./" (so do other entries); expected paths as they are below the content root (tar -C DIR -c NAME…, not tar -C DIR -c .)`,
		`path-mode tools/open: mode 0666 lets group or others write; expected that only the owner may (chmod go-w)`,
	}, problemsOf(index))
	require.Len(t, index.Entries, len(sample)+1)
	require.Contains(t, index.Texts, "agentsuite.json")
}

// How far the goroutine that inflates has come when an archive turns out to be none must not show.
func TestArchiveFaultsAreAlwaysTheSame(t *testing.T) {
	layer := flip(gzipOf(t, concat([]byte(strings.Repeat("no tar ", 200)), make([]byte, 1<<20))), -8)
	for range 50 {
		lines := problemsOf(stream(t, layer, defaults()))
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "archive-tar : the archive cannot be read at its beginning")
	}
}

// Whatever way the bytes arrive in, the result is the same.
func TestArchiveInSmallReads(t *testing.T) {
	layer := layerOf(t, sample...)
	want := stream(t, layer, defaults())
	for range 20 {
		got, err := content.OpenReader(t.Context(), &smallReads{layer, rand.New(rand.NewSource(1))}, defaults())
		require.NoError(t, err)
		requireEqual(t, want, got)
	}
}

type smallReads struct {
	data []byte
	rand *rand.Rand
}

func (s *smallReads) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data[:min(len(s.data), 1+s.rand.Intn(7))])
	s.data = s.data[n:]
	var err error
	if len(s.data) == 0 {
		err = io.EOF
	}
	return n, err
}
