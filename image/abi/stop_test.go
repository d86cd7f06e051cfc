package abi

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// TestCheckStops holds that files whose needs lead nowhere, over and over, cannot keep a check busy.
func TestCheckStops(t *testing.T) {
	var needed, runPath []string
	for i := range 100 {
		needed = append(needed, fmt.Sprintf("lib%d.so", i))
		runPath = append(runPath, fmt.Sprintf("/a/b/c/%d", i))
	}
	objects := map[string]Facts{
		"opt/x/a": {ELF: &ELF{Machine: "amd64", Executable: true, Needed: needed, RunPath: runPath}},
	}
	nothing := func(string) (Entry, bool) { return Entry{}, false }
	subject := Subject{
		Platform: suite.Platforms()[0], Final: nothing, Base: nothing,
		Bundles: []Bundle{{Component: "x@1.0.0", Objects: objects, Runtime: suite.RuntimeNeeds{ABI: abiGNU}}},
	}
	t.Run("when what they need has no end", func(t *testing.T) {
		c := newChecker(t.Context(), subject)
		c.final.lookups = 1000
		_, err := c.check()
		require.ErrorContains(t, err, "look-ups")
	})
	t.Run("when it is cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Check(ctx, subject)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("but not before", func(t *testing.T) {
		findings, err := Check(t.Context(), subject)
		require.NoError(t, err)
		require.Len(t, findings, len(needed))
	})
}

// TestCheckOfHostileFiles holds that checks come to an end soon, whatever files state: with findings, or with
// the error that says why not.
func TestCheckOfHostileFiles(t *testing.T) {
	list := func(n int, format string) (texts []string) {
		for i := range n {
			texts = append(texts, fmt.Sprintf(format, i))
		}
		return texts
	}
	same := func(n int, text string) []string { return slices.Repeat([]string{text}, n) }
	deep := strings.Repeat("d/", 1800)
	chain := map[string]Facts{}
	for i := range 200 {
		chain[fmt.Sprintf("lib/%d", i)] = Facts{ELF: &ELF{Machine: "amd64", Executable: i == 0, Needed: []string{fmt.Sprintf("/lib/%d", i+1)}, RPath: list(2000, "/r/%d")}}
	}
	versions := map[string]Facts{"lib/libv.so": {ELF: &ELF{Machine: "amd64", Soname: "libv.so", Defines: list(10_000, "D_%d")}}}
	for i := range 30 {
		versions[fmt.Sprintf("bin/%d", i)] = Facts{ELF: &ELF{Machine: "amd64", Executable: true, Needed: []string{"/lib/libv.so"}, Versions: map[string][]string{"libv.so": list(10_000, "N_%d")}}}
	}
	conf := map[string][]byte{"etc/ld.so.conf": []byte(strings.Repeat("include nothing/*a*a*a*a*a*b\ninclude ld.so.conf\n", 20_000))}
	for i := range 900 {
		conf[fmt.Sprintf("etc/ld.so.conf.d/%d.conf", i)] = nil
	}
	for name, tt := range map[string]struct {
		objects map[string]Facts
		files   map[string][]byte
	}{
		"an origin many times in one path": {objects: map[string]Facts{deep + "a": {ELF: &ELF{
			Machine: "amd64", Executable: true, Needed: list(5000, "lib%d.so"), RunPath: same(64, "/"+strings.Repeat("$ORIGIN", 500)),
		}}}},
		"search paths that are inherited over and over": {objects: chain},
		"very many symbol versions":                     {objects: versions},
		"configuration that includes itself":            {objects: map[string]Facts{"a": {ELF: &ELF{Machine: "amd64", Executable: true, Needed: []string{"b"}}}}, files: conf},
		"more that is missing than anybody reads":       {objects: map[string]Facts{"a": {ELF: &ELF{Machine: "amd64", Executable: true, Needed: list(20_000, "%d")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			lookup := func(p string) (Entry, bool) {
				facts, ok := tt.objects[p]
				return Entry{Type: content.File, Mode: 0o755, Facts: &facts}, ok
			}
			// Far more than it takes; what costs the product of two lists takes for ever.
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			findings, err := Check(ctx, Subject{
				Platform: suite.Platforms()[0], Final: lookup, Base: lookup, Files: tt.files,
				Bundles: []Bundle{{Component: "x@1.0.0", Objects: tt.objects, Runtime: suite.RuntimeNeeds{ABI: abiGNU}}},
			})
			if err != nil {
				require.ErrorIs(t, err, errTooManyLookups)
			}
			require.LessOrEqual(t, len(findings), maxFindings)
		})
	}
}

// TestCacheOfOneString holds that the strings of a cache of the loader take no more than a small multiple of it.
func TestCacheOfOneString(t *testing.T) {
	const records = 20_000
	raw := append([]byte(ldCacheMagic), make([]byte, ldCacheHeader-len(ldCacheMagic))...)
	binary.LittleEndian.PutUint32(raw[20:], records)
	text := uint32(ldCacheHeader + records*ldCacheRecord)
	for range records {
		record := make([]byte, ldCacheRecord)
		binary.LittleEndian.PutUint32(record, ldCacheFlagX8664)
		binary.LittleEndian.PutUint32(record[4:], text)
		binary.LittleEndian.PutUint32(record[8:], text)
		raw = append(raw, record...)
	}
	raw = append(raw, strings.Repeat("x", 4000)+"\x00"...)
	require.Nil(t, parseLDCache(raw, "amd64"))
}

func TestWeight(t *testing.T) {
	f := &Facts{ELF: &ELF{Loader: "1", Needed: []string{"22"}, RPath: []string{"333"}, RunPath: []string{"4444"}, Defines: []string{"55555"}, Versions: map[string][]string{"6": {"77"}}}}
	require.EqualValues(t, 64+11*32+len("1"+"22"+"333"+"4444"+"55555"+"6"+"77"), f.Weight())
	require.EqualValues(t, 64+32+7, (&Facts{Interpreter: []string{"/bin/sh"}}).Weight())
}
