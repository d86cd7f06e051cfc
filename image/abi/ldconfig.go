package abi

import (
	"bytes"
	"encoding/binary"
	"maps"
	"path"
	"slices"
	"strings"
)

// Where the loaders' configuration lies.
const (
	ldCachePath = "etc/ld.so.cache"
	ldConfPath  = "etc/ld.so.conf"
	ldConfDir   = "etc/ld.so.conf.d/"
)

// IsConfiguration tells whether the bytes of the file at a path belong into [Subject.Files]: the GNU
// loader's cache and the files that it is made from, and musl's path file.
func IsConfiguration(p string) bool {
	switch {
	case p == ldCachePath, p == ldConfPath:
		return true
	case strings.HasPrefix(p, ldConfDir):
		return strings.HasSuffix(p, ".conf")
	}
	musl, ok := strings.CutPrefix(p, "etc/ld-musl-")
	return ok && strings.HasSuffix(musl, ".path")
}

// configuration is what /etc adds to the directories that a loader searches by itself.
type configuration struct {
	// cached are the libraries of ld.so.cache, by name; nil if there is no readable cache.
	cached map[string][]string
	// directories are those of ld.so.conf.
	directories []string
	// musl are the directories of the path file; nil if there is none.
	musl []string
}

func readConfiguration(files map[string][]byte, architecture string) configuration {
	var c configuration
	if raw, ok := files[ldCachePath]; ok {
		c.cached = parseLDCache(raw, architecture)
	}
	c.directories = newConfReader(files).read(ldConfPath, 0)
	name := strings.TrimSuffix(loaderName(abiMusl, architecture), ".so.1")
	if raw, ok := files["etc/"+name+".path"]; ok {
		c.musl = append([]string{}, strings.FieldsFunc(string(raw), func(r rune) bool { return r == ':' || r == '\n' })...)
	}
	return c
}

// The layout of ld.so.cache (glibc's dl-cache.h): a header, fixed-size records, strings. Values are
// little-endian on the platforms that we know, string offsets count from the header's start.
const (
	ldCacheMagic  = "glibc-ld.so.cache1.1"
	ldCacheHeader = 48
	ldCacheRecord = 24

	ldCacheFlagX8664   = 0x0303
	ldCacheFlagAArch64 = 0x0a03
)

// parseLDCache returns the libraries that a cache lists for an architecture, or nil if the bytes are
// no cache that the loader of today's glibc reads. Records for special hardware are left out: a
// library that only some processors find is not found.
func parseLDCache(raw []byte, architecture string) map[string][]string {
	// Old ld.so caches may carry the new one behind a part of their own.
	start := bytes.Index(raw, []byte(ldCacheMagic))
	if start < 0 || len(raw)-start < ldCacheHeader {
		return nil
	}
	raw = raw[start:]
	count := uint64(binary.LittleEndian.Uint32(raw[20:]))
	if count > uint64(len(raw)-ldCacheHeader)/ldCacheRecord {
		return nil
	}
	wanted := map[string]uint32{"amd64": ldCacheFlagX8664, "arm64": ldCacheFlagAArch64}[architecture]
	// ldconfig writes every string once, and lets one be the end of another; a cache in which all are the end
	// of one long string would take a thousand times its size.
	budget := 4 * len(raw)
	text := func(offset uint32) string {
		if uint64(offset) >= uint64(len(raw)) {
			return ""
		}
		s, _, _ := bytes.Cut(raw[offset:min(uint64(len(raw)), uint64(offset)+maxPathLength)], []byte{0})
		budget -= len(s)
		return string(s)
	}
	libraries := map[string][]string{}
	for i := range count {
		if budget < 0 {
			return nil
		}
		record := raw[ldCacheHeader+i*ldCacheRecord:]
		flags, hwcap := binary.LittleEndian.Uint32(record), binary.LittleEndian.Uint64(record[16:])
		if flags == wanted && hwcap == 0 {
			name := text(binary.LittleEndian.Uint32(record[4:]))
			libraries[name] = append(libraries[name], text(binary.LittleEndian.Uint32(record[8:])))
		}
	}
	return libraries
}

// Bounds on ld.so.conf; ldconfig itself stops at 10 levels.
const (
	maxConfDepth       = 10
	maxConfDirectories = 4096
	maxConfMatches     = 1 << 17
)

// confReader reads ld.so.conf and what it includes.
type confReader struct {
	files map[string][]byte
	names []string // of files, sorted
	// read at most this many more directories and files, and match at most this many names to patterns; what is
	// read again and again counts with those
	budget, matches int
}

func newConfReader(files map[string][]byte) *confReader {
	return &confReader{files: files, names: slices.Sorted(maps.Keys(files)), budget: maxConfDirectories, matches: maxConfMatches}
}

// read returns the directories that a file lists, in order. An include pattern is relative to the
// directory of the file that holds it and matches files in the order of their names.
func (c *confReader) read(name string, depth int) []string {
	raw, ok := c.files[name]
	if c.matches -= len(raw) / 64; !ok || depth > maxConfDepth || c.matches < 0 {
		return nil
	}
	var directories []string
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n:,", r) })
		switch {
		case len(fields) == 0, fields[0] == "hwcap":
			continue
		case fields[0] == "include":
			for _, pattern := range fields[1:] {
				directories = append(directories, c.include(name, pattern, depth)...)
			}
			continue
		}
		for _, directory := range fields {
			if c.budget--; c.budget < 0 {
				return directories
			}
			directory, _, _ = strings.Cut(directory, "=") // an obsolete library type
			directories = append(directories, directory)
		}
	}
	return directories
}

func (c *confReader) include(from, pattern string, depth int) []string {
	if !path.IsAbs(pattern) {
		pattern = path.Join("/", path.Dir(from), pattern)
	}
	if len(pattern) > maxPathLength {
		return nil
	}
	pattern = strings.TrimPrefix(path.Clean(pattern), "/")
	var directories []string
	for _, name := range c.names {
		if c.matches -= 1 + len(pattern)/64; c.matches < 0 {
			break
		}
		if ok, err := path.Match(pattern, name); !ok || err != nil {
			continue
		}
		if c.budget--; c.budget < 0 {
			break
		}
		directories = append(directories, c.read(name, depth+1)...)
	}
	return directories
}
