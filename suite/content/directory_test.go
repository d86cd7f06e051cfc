package content_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// tree makes a directory of files; names that end in a slash are directories, and a text that begins
// with an arrow is a symlink's target.
func tree(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		target, isLink := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			require.NoError(tb, os.MkdirAll(path, 0o755))
		case isLink:
			require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(tb, os.Symlink(target, path))
		default:
			write(tb, path, text)
		}
	}
	return dir
}

// directoryFaults make one thing wrong in a good directory.
var directoryFaults = map[string]struct {
	make func(dir string) error
	want string // rule, place and a part of the message
}{
	"FIFO":                 {func(dir string) error { return mkfifo(dir + "/x") }, "path-type x: the entry is a FIFO; expected a regular file, a directory or a symlink"},
	"socket":               {func(dir string) error { return unix.Mknod(dir+"/x", unix.S_IFSOCK|0o644, 0) }, "path-type x: the entry is a socket"},
	"set-uid file":         {func(dir string) error { return chmod(dir+"/a.txt", 0o755|os.ModeSetuid) }, "path-mode a.txt: mode 4755 has a set-id or sticky bit"},
	"set-gid directory":    {func(dir string) error { return chmod(dir+"/d", 0o755|os.ModeSetgid) }, "path-mode d: mode 2755 has a set-id or sticky bit"},
	"sticky directory":     {func(dir string) error { return chmod(dir+"/d", 0o755|os.ModeSticky) }, "path-mode d: mode 1755"},
	"group-writable file":  {func(dir string) error { return chmod(dir+"/a.txt", 0o664) }, "path-mode a.txt: mode 0664 lets group or others write"},
	"symlink out":          {func(dir string) error { return os.Symlink("../x", dir+"/x") }, `path-symlink x: the symlink's target "../x" is refused: it leads out of the content root`},
	"absolute symlink":     {func(dir string) error { return os.Symlink("/etc", dir+"/x") }, `path-symlink x: the symlink's target "/etc" is refused: it is absolute`},
	"backslash":            {func(dir string) error { return os.WriteFile(dir+`/a\b`, nil, 0o644) }, `path-unsafe a\b: "a\b" is no content path: it contains a backslash`},
	"no UTF-8":             {func(dir string) error { return os.Mkdir(dir+"/\xff", 0o755) }, `is no content path: it is not UTF-8`},
	"case":                 {func(dir string) error { return os.WriteFile(dir+"/A.TXT", nil, 0o644) }, `path-case-collision A.TXT: the path equals "a.txt" but for case`},
	"Dockerfile":           {func(dir string) error { return os.WriteFile(dir+"/Dockerfile", []byte("FROM scratch\n"), 0o644) }, `build-file Dockerfile: the build file is refused: its first line is no "# syntax=" line; expected a "# syntax=" line and nothing else`},
	"another Dockerfile":   {func(dir string) error { return os.WriteFile(dir+"/x.Dockerfile", []byte("# syntax=x\nRUN x"), 0o644) }, `build-file x.Dockerfile: the build file is refused: its line 2 is neither blank nor a comment`},
	"empty Dockerfile":     {func(dir string) error { return os.WriteFile(dir+"/Dockerfile", nil, 0o644) }, "it is empty"},
	"binary Dockerfile":    {func(dir string) error { return os.WriteFile(dir+"/Dockerfile", []byte("# syntax=\xff"), 0o644) }, "it is no text"},
	"NUL Dockerfile":       {func(dir string) error { return os.WriteFile(dir+"/Dockerfile", []byte("# syntax=x\n#\x00"), 0o644) }, "it is no text"},
	"large Dockerfile":     {func(dir string) error { return os.WriteFile(dir+"/Dockerfile", make([]byte, 65537), 0o644) }, "build-file Dockerfile: the build file has 65537 bytes; the limit is 65536"},
	"Dockerfile symlink":   {func(dir string) error { return os.Symlink("a.txt", dir+"/Dockerfile") }, "build-file Dockerfile: the build file is a symlink; expected a regular file"},
	"Dockerfile FIFO":      {func(dir string) error { return mkfifo(dir + "/Dockerfile") }, "build-file Dockerfile: the build file is a FIFO"},
	"ignore symlink":       {func(dir string) error { return os.Symlink("a.txt", dir+"/.dockerignore") }, "build-file .dockerignore: the build file is a symlink"},
	"ignore FIFO":          {func(dir string) error { return mkfifo(dir + "/.dockerignore") }, "build-file .dockerignore: the build file is a FIFO"},
	"large ignore":         {func(dir string) error { return os.WriteFile(dir+"/.dockerignore", make([]byte, 65537), 0o644) }, "build-file .dockerignore: the build file has 65537 bytes; the limit is 65536"},
	"malformed pattern":    {func(dir string) error { return os.WriteFile(dir+"/.dockerignore", []byte("x\n[a-\n"), 0o644) }, `build-file .dockerignore: the file cannot be applied: the pattern "[a-" is malformed`},
	"exception of nothing": {func(dir string) error { return os.WriteFile(dir+"/.dockerignore", []byte("x\n!\n"), 0o644) }, `build-file .dockerignore: the file cannot be applied: the pattern "!" is malformed`},
	"many patterns": {func(dir string) error {
		return os.WriteFile(dir+"/.dockerignore", []byte(strings.Repeat("a\n", 1001)), 0o644)
	}, "build-file .dockerignore: the file cannot be applied: it has 1001 patterns; the limit is 1000"},
	"many wildcards": {func(dir string) error {
		return os.WriteFile(dir+"/.dockerignore", []byte(strings.Repeat("*a?[b]", 333)+"\n**/c\n"), 0o644)
	}, "build-file .dockerignore: the file cannot be applied: its patterns have 1001 wildcards; the limit is 1000"},
	"long path": {func(dir string) error {
		return os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 520)), 0o755)
	}, "path-unsafe"},
}

func TestDirectoryFaults(t *testing.T) {
	for name, test := range directoryFaults {
		t.Run(name, func(t *testing.T) {
			dir := goodDirectory(t)
			require.NoError(t, test.make(dir))
			for _, digest := range []bool{false, true} {
				opts := defaults()
				opts.Digest = digest
				index := open(t, dir, opts)
				lines := problemsOf(index)
				require.Len(t, lines, 1)
				require.Contains(t, lines[0], test.want)
				require.Empty(t, index.SuiteDigest, "what has problems cannot be packed")
				require.Equal(t, "{}", string(index.Texts["d/b.json"]), "what is good is there all the same")
			}
		})
	}
}

func goodDirectory(tb testing.TB) string {
	return tree(tb, map[string]string{"a.txt": "text", "d/": "", "d/b.json": "{}"})
}

func chmod(path string, mode os.FileMode) error { return os.Chmod(path, mode) }

func TestDirectoryWithDevice(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mknod(dir+"/null", unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))); err != nil {
		t.Skip("making a device takes privileges: ", err)
	}
	require.Equal(t, []string{"path-type null: the entry is a character device; expected a regular file, a directory or a symlink"}, problemsOf(open(t, dir, defaults())))
}

func TestDirectoryWithAttributes(t *testing.T) {
	dir := tree(t, map[string]string{"a": "x", "b": "x"})
	_ = unix.Setxattr(dir+"/b", "user.note", []byte("x"), 0) // where it can be set, it does not matter
	// Version 2 of the structure: effective, net_bind_service permitted.
	capability := []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Setxattr(dir+"/a", "security.capability", capability, 0); err != nil {
		t.Skip("giving a file capabilities takes privileges: ", err)
	}
	require.Equal(t, []string{"path-attribute a: the file has capabilities; expected none (setcap -r)"}, problemsOf(open(t, dir, defaults())))
}

func TestDirectoryAccepts(t *testing.T) {
	dir := tree(t, map[string]string{
		"a": "x", "open/": "", "link": "-> a", "dir/link": "-> ../a", "dangling": "-> none", "to-dir": "-> dir",
		"oci-layout/x":   "a directory of that name makes no layout",
		"sub/Dockerfile": "FROM scratch", "sub/.dockerignore": "*", "sub/README.md": "prose", "dockerfile": "x", "readme.md": "y",
	})
	require.NoError(t, os.Chmod(dir+"/open", 0o777))
	require.NoError(t, os.Link(dir+"/a", dir+"/b"))
	require.NoError(t, os.Chtimes(dir+"/a", time.Unix(1, 1), time.Unix(2, 2)))
	index := open(t, dir, defaults())
	noProblems(t, index)
	require.Equal(t, []string{
		"a", "b", "dangling", "dir", "dir/link", "dockerfile", "link", "oci-layout", "oci-layout/x", "open", "readme.md",
		"sub", "sub/.dockerignore", "sub/Dockerfile", "sub/README.md", "to-dir",
	}, pathsOf(index))
	a, _ := index.Entry("a")
	b, _ := index.Entry("b")
	require.Equal(t, content.File, b.Type, "a file with several names is a file")
	require.Equal(t, a.Digest, b.Digest)
	require.Empty(t, index.Ignored)
}

func TestBuildFilesAreNoContent(t *testing.T) {
	index := open(t, tree(t, map[string]string{
		"agentsuite.json": "{}", "Dockerfile": "# syntax=example/frontend:1\n\n# a comment\n  # another\n", "suite.Dockerfile": "#syntax = example/frontend\r\n\r\n",
		".dockerignore": "# nothing\n\n", "agentsuite.json.dockerignore": "*", "docker-bake.hcl": `target "x" {}`, "docker-bake.json": "not JSON", "README.md": "x", "LICENSE": "y",
		".git/HEAD": "ref", ".git/objects/x": "z", ".github/workflow": "content",
	}), defaults())
	noProblems(t, index)
	require.Equal(t, []string{".github", ".github/workflow", "agentsuite.json"}, pathsOf(index))
	require.Equal(t, []string{
		".dockerignore", ".git", "Dockerfile", "LICENSE", "README.md", "agentsuite.json.dockerignore", "docker-bake.hcl", "docker-bake.json", "suite.Dockerfile",
	}, index.Ignored)
	require.NotContains(t, index.Texts, "README.md")
}

func TestIgnore(t *testing.T) {
	files := map[string]string{
		"agentsuite.json": "", "a/b/c.txt": "", "a/b/d.log": "", "a/e.log": "", "f.log": "", "g/": "", "h/i/j.txt": "", "h/k.txt": "", "Dockerfile": "FROM scratch",
		"l": "-> f.log", "m/n/o/p": "",
	}
	all := []string{"a", "a/b", "a/b/c.txt", "a/b/d.log", "a/e.log", "agentsuite.json", "f.log", "g", "h", "h/i", "h/i/j.txt", "h/k.txt", "l", "m", "m/n", "m/n/o", "m/n/o/p"}
	without := func(gone ...string) (left []string) {
		for _, p := range all {
			if !contains(gone, p) {
				left = append(left, p)
			}
		}
		return left
	}
	for name, test := range map[string]struct {
		patterns string
		want     []string
		ignored  []string
	}{
		"a file":                     {"Dockerfile\nf.log", without("f.log"), []string{".dockerignore", "Dockerfile", "f.log"}},
		"a directory":                {"Dockerfile\na", without("a", "a/b", "a/b/c.txt", "a/b/d.log", "a/e.log"), []string{".dockerignore", "Dockerfile", "a"}},
		"a directory with a slash":   {"Dockerfile\n/a/", without("a", "a/b", "a/b/c.txt", "a/b/d.log", "a/e.log"), []string{".dockerignore", "Dockerfile", "a"}},
		"what is in a directory":     {"Dockerfile\nh/*", without("h/i", "h/i/j.txt", "h/k.txt"), []string{".dockerignore", "Dockerfile", "h/i", "h/k.txt"}},
		"everything below":           {"Dockerfile\nh/**", without("h/i", "h/i/j.txt", "h/k.txt"), []string{".dockerignore", "Dockerfile", "h/i", "h/k.txt"}},
		"names at the top":           {"Dockerfile\n*.log", without("f.log"), []string{".dockerignore", "Dockerfile", "f.log"}},
		"names everywhere":           {"Dockerfile\n**/*.log", without("f.log", "a/e.log", "a/b/d.log"), []string{".dockerignore", "Dockerfile", "a/b/d.log", "a/e.log", "f.log"}},
		"an exception":               {"Dockerfile\na/*\n!a/e.log", without("a/b", "a/b/c.txt", "a/b/d.log"), []string{".dockerignore", "Dockerfile", "a/b"}},
		"an exception in the depth":  {"Dockerfile\na\n!a/b/c.txt", without("a/b/d.log", "a/e.log"), []string{".dockerignore", "Dockerfile", "a/b/d.log", "a/e.log"}},
		"an exception that is not":   {"Dockerfile\na\nm\n!a/none", without("a", "a/b", "a/b/c.txt", "a/b/d.log", "a/e.log", "m", "m/n", "m/n/o", "m/n/o/p"), []string{".dockerignore", "Dockerfile", "a", "m"}},
		"an exception of names":      {"Dockerfile\nh\nm\n!**/*.txt", without("m", "m/n", "m/n/o", "m/n/o/p"), []string{".dockerignore", "Dockerfile", "m"}},
		"the last that matches wins": {"Dockerfile\n!f.log\nf.log", without("f.log"), []string{".dockerignore", "Dockerfile", "f.log"}},
		"an exception first":         {"!a\nDockerfile\na/b", without("a/b", "a/b/c.txt", "a/b/d.log"), []string{".dockerignore", "Dockerfile", "a/b"}},
		"an exception of a parent":   {"Dockerfile\na/b\n!a", without("a/b", "a/b/c.txt", "a/b/d.log"), []string{".dockerignore", "Dockerfile", "a/b"}},
		"all but one":                {"*\n!agentsuite.json", []string{"agentsuite.json"}, []string{".dockerignore", "Dockerfile", "a", "f.log", "g", "h", "l", "m"}},
		"the suite itself":           {"agentsuite.json\nDockerfile", without("agentsuite.json"), []string{".dockerignore", "Dockerfile", "agentsuite.json"}},
		"nothing is left":            {"*", nil, []string{".dockerignore", "Dockerfile", "a", "agentsuite.json", "f.log", "g", "h", "l", "m"}},
		"comments and white space":   {"\ufeff# f.log\n  Dockerfile  \n\t\n f.log \n", without("f.log"), []string{".dockerignore", "Dockerfile", "f.log"}},
	} {
		t.Run(name, func(t *testing.T) {
			files[".dockerignore"] = test.patterns
			index := open(t, tree(t, files), defaults())
			noProblems(t, index)
			require.Equal(t, append([]string{}, test.want...), pathsOf(index))
			require.Equal(t, test.ignored, index.Ignored)
		})
	}
}

func contains(list []string, s string) bool {
	for _, each := range list {
		if each == s {
			return true
		}
	}
	return false
}

// What is ignored is not even read: neither its faults nor what it is made of matter.
func TestIgnoredIsNotRead(t *testing.T) {
	dir := tree(t, map[string]string{".dockerignore": "skip\nDockerfile\n", "Dockerfile": "FROM x", "skip/link": "-> /etc", "agentsuite.json": "{}"})
	require.NoError(t, mkfifo(dir+"/skip/fifo"))
	noProblems(t, open(t, dir, defaults()))
}

func TestDirectoryThatIsReachedByASymlink(t *testing.T) {
	dir := sampleDirectory(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	requireEqual(t, open(t, dir, defaults()), open(t, link, defaults()))
}

// A path may name a pipe, as a shell's <(…) does.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, mkfifo(path))
	written := make(chan error, 1)
	layer := layerOf(t, sample...)
	go func() { written <- os.WriteFile(path, layer, 0) }()
	index := open(t, path, defaults())
	require.NoError(t, <-written)
	noProblems(t, index)
	requireEqual(t, sampleEntries(), index.Entries)
}

func TestSocketIsNoSuite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer listener.Close()
	_, err = content.Open(t.Context(), path, defaults())
	require.Error(t, err)
}

// Symlinks are entries; nothing is read through them.
func TestSymlinksAreNotFollowed(t *testing.T) {
	outside := tree(t, map[string]string{"secret.txt": "outside", "d/x.json": "{}"})
	index := open(t, tree(t, map[string]string{"out.txt": "-> " + outside + "/secret.txt", "d": "-> " + outside + "/d", "in": "-> out.txt"}), defaults())
	require.Equal(t, []string{"d", "in", "out.txt"}, pathsOf(index))
	require.Empty(t, index.Texts)
	require.Len(t, index.Problems, 2)
}
