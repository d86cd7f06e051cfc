package image

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

var linuxARM64 = suite.Platform{OS: "linux", Architecture: "arm64"}

func TestAppendInventoryIsCanonical(t *testing.T) {
	entries := []Entry{
		{Path: "a", Type: content.Directory, Mode: 0o2775, UID: 4294967295, GID: 50, Component: ComponentRuntimeBase},
		{Path: "a/empty", Type: content.File, Mode: 0o4755, Digest: digest.FromString(""), Component: ComponentHarness},
		{Path: "a/large", Type: content.File, Mode: 0o644, Size: 1 << 52, Digest: digest.FromString("x"), Component: ComponentMetadata},
		{Path: "a/l\u2028ink\u00e9\U0001F600<>&", Type: content.Symlink, Mode: 0o777, LinkTarget: "../\"back\\slash\"\x7f", Component: "x@1"},
	}
	for c := range rune(0x20) {
		entries = append(entries, Entry{Path: "control " + string(c), Type: content.Directory, Component: "x"})
	}
	text := appendInventory(nil, linuxARM64, entries)
	canonical, err := jcs.Transform(text)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(text))

	var inventory Inventory
	require.NoError(t, json.Unmarshal(text, &inventory))
	require.Equal(t, entries, inventory.Entries)
	require.Equal(t, linuxARM64, inventory.Platform)
	require.Contains(t, string(text), `"path":"a/empty","size":0,`, "a file always has a size")
	require.Equal(t, 2, strings.Count(string(text), `"size":`), "and nothing else has one")
}

func TestInventorySizeIsEnough(t *testing.T) {
	entries := make([]Entry, 1000)
	for i := range entries {
		entries[i] = Entry{Path: strings.Repeat("p", i), Type: content.File, Mode: 0o7777, UID: 65534, GID: 65534, Size: 1 << 30, Digest: digest.FromString("x"), Component: "some-tool@1.0.0"}
	}
	text := appendInventory(make([]byte, 0, inventorySize(entries)), linuxARM64, entries)
	require.Equal(t, inventorySize(entries), cap(text), "the estimate holds, so the bytes are never copied")
}

func FuzzAppendJSONString(f *testing.F) {
	for _, s := range []string{"", "a/b", "\x00\x1f\x7f\u0080", `"\`, "\u2028\ufeff\U0010ffff", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip()
		}
		text := appendJSONString(nil, s)
		canonical, err := jcs.Transform([]byte(`[` + string(text) + `]`))
		require.NoError(t, err)
		require.Equal(t, string(canonical), `[`+string(text)+`]`)
		var back string
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, s, back)
	})
}

func TestDecodeInventory(t *testing.T) {
	inventory := &Inventory{Platform: linuxARM64, Entries: []Entry{{Path: "a", Type: content.Directory, Mode: 0o755}, {Path: "b", Type: content.File, Mode: 0o644, Size: 1}}}
	text := inventory.Canonical()
	got, err := DecodeInventory(text, 2)
	require.NoError(t, err)
	require.Equal(t, text, got.Canonical())
	require.Equal(t, inventory.Entries, got.Entries)

	_, err = DecodeInventory(text, 1)
	require.ErrorContains(t, err, "it lists more than 1 entries")
	for _, wrong := range []string{`{"entries": null}`, `{"entries": {}}`, `{"entries": [1]}`, `{"entries": [`, ``, `[]`} {
		_, err := DecodeInventory([]byte(wrong), 1)
		require.Error(t, err, wrong)
	}
	for _, empty := range []string{`{}`, `{"entries": []}`, `null`} {
		got, err := DecodeInventory([]byte(empty), 0)
		require.NoError(t, err)
		require.NotEqual(t, []byte(empty), got.Canonical())
	}
}

// Entries of nothing take a hundred times as much memory as their text, so not even half of them are read.
func TestDecodeInventoryOfNothing(t *testing.T) {
	text := []byte(`{"entries":[` + strings.Repeat("{},", 1<<20) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := DecodeInventory(text, 1000)
	require.Error(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}
