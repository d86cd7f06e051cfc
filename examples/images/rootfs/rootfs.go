// Package rootfs makes the filesystem of the example runtime base: what a
// static program expects of a Linux system (certificate authorities, users,
// time zones, name resolution) and nothing that could be run.
package rootfs

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Epoch is the modification time of every entry, in seconds since 1970. It is
// the example suite's source epoch.
const Epoch = 1767225600

// NonRoot is the numeric id of the user and of the group nonroot.
const NonRoot = 65532

// Trees that other entries fill.
const (
	zoneinfoDir = "usr/share/zoneinfo"
	caBundle    = "etc/ssl/certs/ca-certificates.crt"
)

// entry is one file, directory (path ends in a slash) or, with a target,
// symlink. Its owner is root unless it says otherwise.
type entry struct {
	path   string
	mode   int64
	owner  int
	data   []byte
	target string
}

// skeleton holds everything whose content is fixed.
var skeleton = []entry{
	{path: "dev/", mode: 0o755},
	{path: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n")},
	{path: "etc/localtime", target: "../usr/share/zoneinfo/Etc/UTC"},
	{path: "etc/nsswitch.conf", mode: 0o644, data: []byte("passwd: files\ngroup: files\nhosts: files dns\n")},
	// No entry has a shell: the image has none.
	{path: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/root:/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
		"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
	{path: "etc/ssl/cert.pem", target: "certs/ca-certificates.crt"},
	{path: "home/nonroot/", mode: 0o700, owner: NonRoot},
	{path: "proc/", mode: 0o755},
	{path: "root/", mode: 0o700},
	{path: "run/", mode: 0o755},
	{path: "sys/", mode: 0o755},
	{path: "tmp/", mode: 0o1777},
	{path: "usr/bin/", mode: 0o755},
	{path: "usr/local/bin/", mode: 0o755},
	{path: "var/tmp/", mode: 0o1777},
}

// Write writes the filesystem to w as a tar archive whose bytes depend on
// nothing but the x509roots module and zoneinfo, the archive of compiled time
// zones that comes with a Go distribution as lib/time/zoneinfo.zip.
func Write(w io.Writer, zoneinfo *zip.Reader) error {
	zones, err := readZones(zoneinfo)
	if err != nil {
		return err
	}
	entries := slices.Concat(skeleton, zones, []entry{{path: caBundle, mode: 0o644, data: certificateAuthorities()}})
	entries = append(entries, parents(entries)...)
	// A directory's path is the beginning of every path in it and so sorts first.
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })

	archive := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{
			Name: e.path, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.data)),
			Typeflag: tar.TypeReg, ModTime: time.Unix(Epoch, 0), Format: tar.FormatUSTAR,
		}
		switch {
		case e.target != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.target, 0o777
		case strings.HasSuffix(e.path, "/"):
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("writing %s: %w", e.path, err)
		}
		if _, err := archive.Write(e.data); err != nil {
			return fmt.Errorf("writing %s: %w", e.path, err)
		}
	}
	return archive.Close()
}

// readZones returns the files of a zoneinfo.zip as entries.
func readZones(zoneinfo *zip.Reader) ([]entry, error) {
	var zones []entry
	for _, file := range zoneinfo.File {
		if strings.HasSuffix(file.Name, "/") {
			continue // parents adds the directories that are needed
		}
		if !fs.ValidPath(file.Name) || !file.Mode().IsRegular() {
			return nil, fmt.Errorf("the time zone archive has an entry %q (%s); expected are plain files below it", file.Name, file.Mode())
		}
		data, err := fs.ReadFile(zoneinfo, file.Name)
		if err != nil {
			return nil, fmt.Errorf("reading the time zone %s: %w", file.Name, err)
		}
		if !bytes.HasPrefix(data, []byte("TZif")) {
			return nil, fmt.Errorf("the time zone archive's %s is no compiled time zone", file.Name)
		}
		zones = append(zones, entry{path: path.Join(zoneinfoDir, file.Name), mode: 0o644, data: data})
	}
	return zones, nil
}

// certificateAuthorities returns Mozilla's trusted roots in PEM form. A root
// that Mozilla trusts only under a condition is left out, since PEM could not
// say the condition.
func certificateAuthorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// Writing to a buffer cannot fail, and there are no headers to refuse.
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return out.Bytes()
}

// parents returns the directories on the way to entries that are not among
// them, root-owned with mode 0755.
func parents(entries []entry) []entry {
	have := map[string]bool{}
	for _, e := range entries {
		have[e.path] = true
	}
	var missing []entry
	for _, e := range entries {
		for dir := path.Dir(strings.TrimSuffix(e.path, "/")); dir != "."; dir = path.Dir(dir) {
			if !have[dir+"/"] {
				have[dir+"/"] = true
				missing = append(missing, entry{path: dir + "/", mode: 0o755})
			}
		}
	}
	return missing
}
