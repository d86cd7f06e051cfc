package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// rootfs is a directory that a test fills and scans.
type rootfs struct {
	t   *testing.T
	dir string
}

func newRootfs(t *testing.T) rootfs { return rootfs{t, t.TempDir()} }

func (r rootfs) path(p string) string { return filepath.Join(r.dir, p) }

func (r rootfs) mkdir(p string, mode os.FileMode) {
	require.NoError(r.t, os.MkdirAll(r.path(p), 0o755))
	require.NoError(r.t, os.Chmod(r.path(p), mode))
}

func (r rootfs) write(p string, mode os.FileMode, data string) {
	require.NoError(r.t, os.MkdirAll(filepath.Dir(r.path(p)), 0o755))
	require.NoError(r.t, os.WriteFile(r.path(p), []byte(data), 0o600))
	require.NoError(r.t, os.Chmod(r.path(p), mode))
}

func (r rootfs) symlink(p, target string) {
	require.NoError(r.t, os.MkdirAll(filepath.Dir(r.path(p)), 0o755))
	require.NoError(r.t, os.Symlink(target, r.path(p)))
}

func (r rootfs) scan() *Scan { return r.scanWithin(DefaultScanLimits()) }

func (r rootfs) scanWithin(limits ScanLimits) *Scan {
	root, err := os.OpenRoot(r.dir)
	require.NoError(r.t, err)
	defer root.Close()
	scan, err := scanDir(r.t.Context(), root, limits)
	require.NoError(r.t, err)
	return scan
}

func TestScanDir(t *testing.T) {
	r := newRootfs(t)
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	executable, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)

	r.mkdir("a", 0o2750)
	r.mkdir("a-b", 0o1777)
	r.mkdir("empty", 0o755)
	r.write("a/script", 0o755, "#!/usr/bin/env python3\n")
	r.write("a/plain", 0o644, "text")
	r.write("a/nothing", 0o600, "")
	r.write("a-b/setuid", os.ModeSetuid|0o755, "x")
	r.write("bin/native", 0o755, string(executable))
	require.NoError(t, os.Link(r.path("a/script"), r.path("zz")))
	require.NoError(t, os.Link(r.path("a/script"), r.path("a/again")))
	r.symlink("out", outside)
	r.symlink("up", "../../../../../../etc/passwd")
	r.symlink("loop", "loop")
	r.symlink("dangling", "nowhere")
	r.symlink("tree", "a")
	require.NoError(t, os.Chmod(r.path("a"), os.ModeSetgid|0o750))
	require.NoError(t, os.Chmod(r.path("a-b"), os.ModeSticky|0o777))

	uid, gid := os.Getuid(), os.Getgid()
	d := func(p string, mode uint32) Entry {
		return Entry{Path: p, Type: content.Directory, Mode: mode, UID: uid, GID: gid}
	}
	f := func(p string, mode uint32, data string) Entry {
		return Entry{Path: p, Type: content.File, Mode: mode, UID: uid, GID: gid, Size: int64(len(data)), Digest: digest.FromString(data)}
	}
	l := func(p, target string) Entry {
		return Entry{Path: p, Type: content.Symlink, Mode: 0o777, UID: uid, GID: gid, LinkTarget: target}
	}
	script := "#!/usr/bin/env python3\n"
	scan := r.scan()
	require.Empty(t, cmp.Diff([]Entry{
		d("a", 0o2750), d("a-b", 0o1777), f("a-b/setuid", 0o4755, "x"),
		f("a/again", 0o755, script), f("a/nothing", 0o600, ""), f("a/plain", 0o644, "text"), f("a/script", 0o755, script),
		d("bin", 0o755), f("bin/native", 0o755, string(executable)),
		l("dangling", "nowhere"), d("empty", 0o755), l("loop", "loop"), l("out", outside), l("tree", "a"),
		l("up", "../../../../../../etc/passwd"), f("zz", 0o755, script),
	}, scan.Entries))
	require.Empty(t, scan.Problems)
	require.Empty(t, scan.Files)

	env := abi.Facts{Interpreter: []string{"/usr/bin/env", "python3"}}
	require.Len(t, scan.Objects, 4)
	for _, name := range []string{"a/script", "a/again", "zz"} {
		require.Equal(t, env, scan.Objects[name], "a file has its facts under each of its names")
	}
	require.NotNil(t, scan.Objects["bin/native"].ELF)

	require.Len(t, scan.Warnings, 1)
	require.Equal(t, "SetIDFile", scan.Warnings[0].Rule.Name)
	require.Equal(t, "a-b/setuid", scan.Warnings[0].Path)
	require.Contains(t, scan.Warnings[0].Message, "/a-b/setuid has mode 4755")
}

func TestScanDirRefuses(t *testing.T) {
	r := newRootfs(t)
	require.NoError(t, syscall.Mkfifo(r.path("fifo"), 0o644))
	listener, err := net.Listen("unix", r.path("socket"))
	require.NoError(t, err)
	defer listener.Close()
	r.write("bad\xff/inside", 0o644, "x")
	r.write("bad\xfe", 0o644, "x")
	r.symlink("link", "to\xff")
	r.write("fine\n", 0o644, "x")
	want := []string{
		`bad\xfe: build (ASI-FS-001): /bad\xfe is no UTF-8, so no inventory can list it; rename or remove it in the image`,
		`bad\xff: build (ASI-FS-001): /bad\xff is no UTF-8, so no inventory can list it; rename or remove it in the image`,
		"fifo: build (ASI-FS-001): /fifo is a FIFO; an image holds directories, regular files and symlinks only, so build it without this entry",
		`link: build (ASI-FS-001): /link is a symlink to to\xff, which is no UTF-8, so no inventory can list it; change or remove it in the image`,
		"socket: build (ASI-FS-001): /socket is a socket; an image holds directories, regular files and symlinks only, so build it without this entry",
	}
	if os.Geteuid() == 0 {
		require.NoError(t, syscall.Mknod(r.path("null"), syscall.S_IFCHR|0o666, 1<<8|3))
		require.NoError(t, syscall.Mknod(r.path("ram"), syscall.S_IFBLK|0o600, 1<<8))
		want = append(want[:4:4],
			"null: build (ASI-FS-001): /null is a character device; an image holds directories, regular files and symlinks only, so build it without this entry",
			"ram: build (ASI-FS-001): /ram is a block device; an image holds directories, regular files and symlinks only, so build it without this entry",
			want[4])
	}
	scan := r.scan()
	var got []string
	for _, p := range problem.Sort(scan.Problems) {
		got = append(got, p.String())
	}
	require.Empty(t, cmp.Diff(want, got))
	for _, e := range scan.Entries {
		require.Contains(t, []string{"fine\n", "link"}, e.Path)
	}
}

func TestScanDirLimits(t *testing.T) {
	r := newRootfs(t)
	r.write("d/large", 0o644, strings.Repeat("x", 1000))
	r.write("d/small", 0o644, "x")
	require.NoError(t, os.Link(r.path("d/large"), r.path("d/linked")))
	r.write("etc/passwd", 0o644, strings.Repeat("p", 100))
	r.write("s", 0o755, "#!/bin/sh\n")
	require.NoError(t, os.Link(r.path("s"), r.path("t")))
	script := abi.Facts{Interpreter: []string{"/bin/sh"}}
	fits := ScanLimits{Entries: 8, Bytes: 1111, PathBytes: 10, DatabaseBytes: 100, FactsBytes: 2 * script.Weight()}
	require.Empty(t, r.scanWithin(fits).Problems)
	for name, tc := range map[string]struct {
		lower func(*ScanLimits)
		want  string
	}{
		"entries":  {func(l *ScanLimits) { l.Entries-- }, "build (ASI-FS-001): the filesystem has more than 7 entries, the most that an image is scanned with"},
		"bytes":    {func(l *ScanLimits) { l.Bytes-- }, "build (ASI-FS-001): the files of the filesystem are larger than 1110 bytes together, the most that an image is scanned with"},
		"path":     {func(l *ScanLimits) { l.PathBytes-- }, "build (ASI-FS-001): this path is longer than 9 bytes, the most that an image is scanned with"},
		"database": {func(l *ScanLimits) { l.DatabaseBytes-- }, "etc/passwd: build (ASI-FS-001): /etc/passwd is larger than 99 bytes, the most that is read of a system's configuration"},
		"facts":    {func(l *ScanLimits) { l.FactsBytes-- }, "build (ASI-FS-001): what the native files of the filesystem state of themselves takes more than 205 bytes, the most that an image is scanned with"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := fits
			tc.lower(&limits)
			scan := r.scanWithin(limits)
			require.Len(t, scan.Problems, 1)
			require.Contains(t, scan.Problems[0].String(), tc.want)
		})
	}
}

// The files that composing reads are kept under the names that they are known by, wherever they lie.
func TestScanDirKeepsFiles(t *testing.T) {
	r := newRootfs(t)
	r.write("usr/etc/passwd", 0o644, "root:x:0:0::/:\n")
	r.symlink("etc/passwd", "../usr/etc/passwd")
	r.symlink("etc/group", "/../../usr/etc/../etc/group")
	r.write("usr/etc/group", 0o600, "root:x:0:\n")
	r.write("etc/ld.so.conf", 0o644, "include ld.so.conf.d/*.conf\n")
	r.write("etc/ld.so.conf.d/x.conf", 0o644, "/opt/lib\n")
	r.symlink("etc/ld.so.conf.d/y.conf", "/nowhere")
	r.write("etc/shadow", 0o600, "secret")
	require.Empty(t, cmp.Diff(map[string][]byte{
		"etc/passwd":              []byte("root:x:0:0::/:\n"),
		"etc/group":               []byte("root:x:0:\n"),
		"etc/ld.so.conf":          []byte("include ld.so.conf.d/*.conf\n"),
		"etc/ld.so.conf.d/x.conf": []byte("/opt/lib\n"),
	}, r.scan().Files))
}

func TestScanDirStopsWithItsContext(t *testing.T) {
	r := newRootfs(t)
	for i := range 100 {
		r.write(fmt.Sprintf("d%d/f", i), 0o644, "x")
	}
	root, err := os.OpenRoot(r.dir)
	require.NoError(t, err)
	defer root.Close()
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	_, err = ScanDir(ctx, root)
	require.ErrorIs(t, err, stop)
	_, err = ScanContent(ctx, r.dir, &content.Index{Entries: []content.Entry{{Path: "d0/f", Type: content.File}}})
	require.ErrorIs(t, err, stop)
}

func TestScanContentIsBounded(t *testing.T) {
	r := newRootfs(t)
	r.write("a", 0o755, "#!/bin/sh\n")
	r.write("b", 0o755, "#!/bin/sh\n")
	index := &content.Index{Entries: []content.Entry{{Path: "a", Type: content.File}, {Path: "b", Type: content.File}}}
	script := abi.Facts{Interpreter: []string{"/bin/sh"}}
	objects, err := scanContent(t.Context(), r.dir, index, 2*script.Weight())
	require.NoError(t, err)
	require.Len(t, objects, 2)
	_, err = scanContent(t.Context(), r.dir, index, 2*script.Weight()-1)
	require.ErrorContains(t, err, "reading b: with it, what the native files state")
}

func TestScanContent(t *testing.T) {
	r := newRootfs(t)
	r.write("p/script", 0o644, "#!/bin/sh\n")
	r.write("p/data", 0o755, "data")
	r.symlink("p/link", "script")
	index := &content.Index{
		Entries: []content.Entry{
			{Path: "p", Type: content.Directory}, {Path: "p/data", Type: content.File}, {Path: "p/kept.txt", Type: content.File},
			{Path: "p/link", Type: content.Symlink}, {Path: "p/script", Type: content.File}, {Path: "p/text.txt", Type: content.File},
		},
		// What the index keeps need not be opened.
		Texts: map[string][]byte{"p/kept.txt": []byte("#!/bin/python\n"), "p/text.txt": []byte("text\n")},
	}
	objects, err := ScanContent(t.Context(), r.dir, index)
	require.NoError(t, err)
	require.Equal(t, map[string]abi.Facts{"p/script": {Interpreter: []string{"/bin/sh"}}, "p/kept.txt": {Interpreter: []string{"/bin/python"}}}, objects)
	for _, p := range []string{"p/missing", "p"} {
		_, err = ScanContent(t.Context(), r.dir, &content.Index{Entries: []content.Entry{{Path: p, Type: content.File}}})
		require.ErrorContains(t, err, "reading "+p+": ")
	}
	index.Problems = []problem.Problem{problem.New(problem.PathMode, problem.Place{}, "bad")}
	objects, err = ScanContent(t.Context(), "not extracted", index)
	require.NoError(t, err)
	require.Empty(t, objects, "content with problems is not built from")
}

func sampleScan() *Scan {
	return &Scan{
		Entries: []Entry{
			{Path: "a", Type: content.Directory, Mode: 0o2775, UID: 4294967295, GID: 50},
			{Path: "a-b", Type: content.Symlink, Mode: 0o777, LinkTarget: "a"},
			{Path: "a/b", Type: content.File, Mode: 0o4755, Size: 1 << 40, Digest: digest.FromString("x")},
			{Path: "a/bc", Type: content.File, Mode: 0o644, Digest: digest.FromString("")},
		},
		Files:    map[string][]byte{"etc/passwd": []byte("root\xff")},
		Objects:  map[string]abi.Facts{"a/b": {Interpreter: []string{"/bin/sh"}}, "a/c": {ELF: &abi.ELF{Machine: "amd64", Needed: []string{"libc.so.6"}}}},
		Problems: []problem.Problem{problem.New(problem.ImageEntryType, problem.Place{Path: "dev/x"}, "bad")},
		Warnings: []problem.Warning{problem.NewWarning(problem.SetIDFile, problem.Place{Path: "a/b"}, "set-id")},
	}
}

func TestScanEncoding(t *testing.T) {
	for name, scan := range map[string]*Scan{
		"sample": sampleScan(),
		"empty":  {Entries: []Entry{}, Files: map[string][]byte{}, Objects: map[string]abi.Facts{}},
	} {
		t.Run(name, func(t *testing.T) {
			var first, second bytes.Buffer
			require.NoError(t, scan.Encode(&first))
			require.NoError(t, scan.Encode(&second))
			require.Equal(t, first.Bytes(), second.Bytes())
			got, err := DecodeScan(&first)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(scan, got))
		})
	}
}

func TestScanEncodingRefuses(t *testing.T) {
	for name, e := range map[string]Entry{
		"a hardlink":        {Path: "a", Type: content.Hardlink},
		"a missing digest":  {Path: "a", Type: content.File},
		"another algorithm": {Path: "a", Type: content.File, Digest: digest.SHA512.FromString("x")},
		"a negative owner":  {Path: "a", Type: content.Directory, UID: -1},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, (&Scan{Entries: []Entry{e}}).Encode(io.Discard), `encoding a scan: entry "a": `)
		})
	}
}

func TestDecodeScanRefuses(t *testing.T) {
	var buf bytes.Buffer
	require.NoError(t, sampleScan().Encode(&buf))
	whole := buf.Bytes()
	for n := range whole {
		_, err := DecodeScan(bytes.NewReader(whole[:n]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
	}
	_, err := DecodeScan(bytes.NewReader(append(bytes.Clone(whole), 0)))
	require.EqualError(t, err, "reading a scan: there are bytes behind its last entry")
	_, err = DecodeScan(strings.NewReader("agentsuite scan 0\n and more"))
	require.EqualError(t, err, "reading a scan: it does not begin as a scan of this version does")

	unsorted := sampleScan()
	unsorted.Entries[0], unsorted.Entries[1] = unsorted.Entries[1], unsorted.Entries[0]
	buf.Reset()
	require.NoError(t, unsorted.Encode(&buf))
	_, err = DecodeScan(&buf)
	require.EqualError(t, err, `reading a scan: entry "a" is not sorted behind "a-b"`)
}

func FuzzDecodeScan(f *testing.F) {
	var buf bytes.Buffer
	require.NoError(f, sampleScan().Encode(&buf))
	f.Add(buf.Bytes())
	f.Add([]byte(scanMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		scan, err := DecodeScan(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, scan.Encode(&again))
		back, err := DecodeScan(&again)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(scan, back))
	})
}
