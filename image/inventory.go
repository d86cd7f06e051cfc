package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// Components of an inventory that are no bundle. A bundle's component is its provider, as id@version.
const (
	ComponentRuntimeBase = "runtime-base"
	ComponentHarness     = "harness"
	ComponentMetadata    = "agentsuite"
)

// Inventory is the final inventory of an image: every entry of its filesystem but the root directory,
// the binding and the inventory itself.
type Inventory struct {
	suite.Header
	Platform suite.Platform `json:"platform"`
	// Entries are sorted by path as bytes.
	Entries []Entry `json:"entries"`
}

// DecodeInventory reads an inventory of at most so many entries. It looks at nothing else: whoever needs to know
// that the text is an inventory as it should be compares it to [Inventory.Canonical].
func DecodeInventory(text []byte, most int) (*Inventory, error) {
	var decoded struct {
		Inventory
		Entries boundedEntries `json:"entries"`
	}
	decoded.Entries.most = most
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, err
	}
	decoded.Inventory.Entries = decoded.Entries.list
	return &decoded.Inventory, nil
}

// boundedEntries stops at a number of entries: an entry of a hostile inventory can be much smaller as a text
// than in memory.
type boundedEntries struct {
	list []Entry
	most int
}

func (b *boundedEntries) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('[') {
		return errors.New("its entries are no array")
	}
	for decoder.More() {
		if len(b.list) == b.most {
			return fmt.Errorf("it lists more than %d entries", b.most)
		}
		var e Entry
		if err := decoder.Decode(&e); err != nil {
			return err
		}
		b.list = append(b.list, e)
	}
	return nil
}

// Difference says what differs between two entries of one path, the component not counted: e's value
// first. It is empty if nothing does.
func (e *Entry) Difference(other *Entry) string {
	if sameEntry(e, other) {
		return ""
	}
	return difference(e, other)
}

// Canonical returns the inventory in canonical form (RFC 8785), as an image embeds it. It is made from
// Platform and Entries alone: the header of an inventory is always the same.
func (inv *Inventory) Canonical() []byte {
	return appendInventory(make([]byte, 0, inventorySize(inv.Entries)), inv.Platform, inv.Entries)
}

// appendInventory writes an inventory in canonical form (RFC 8785) without taking the way over a
// generic JSON value: there may be hundreds of thousands of entries.
func appendInventory(buf []byte, platform suite.Platform, entries []Entry) []byte {
	buf = append(buf, `{"entries":[`...)
	for i := range entries {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendInventoryEntry(buf, &entries[i])
	}
	buf = append(buf, `],"mediaType":`...)
	buf = appendJSONString(buf, MediaTypeInventory)
	buf = append(buf, `,"platform":{"architecture":`...)
	buf = appendJSONString(buf, platform.Architecture)
	buf = append(buf, `,"os":`...)
	buf = appendJSONString(buf, platform.OS)
	buf = append(buf, `},"schemaVersion":`...)
	buf = appendJSONString(buf, suite.SpecVersion)
	return append(buf, '}')
}

// appendInventoryEntry writes the members in the order of their names.
func appendInventoryEntry(buf []byte, e *Entry) []byte {
	buf = append(buf, `{"component":`...)
	buf = appendJSONString(buf, e.Component)
	if e.Digest != "" {
		buf = append(buf, `,"digest":`...)
		buf = appendJSONString(buf, string(e.Digest))
	}
	buf = append(buf, `,"gid":`...)
	buf = strconv.AppendInt(buf, int64(e.GID), 10)
	if e.LinkTarget != "" {
		buf = append(buf, `,"linkTarget":`...)
		buf = appendJSONString(buf, e.LinkTarget)
	}
	buf = append(buf, `,"mode":`...)
	buf = strconv.AppendUint(buf, uint64(e.Mode), 10)
	buf = append(buf, `,"path":`...)
	buf = appendJSONString(buf, e.Path)
	if e.Type == content.File {
		buf = append(buf, `,"size":`...)
		buf = strconv.AppendInt(buf, e.Size, 10)
	}
	buf = append(buf, `,"type":`...)
	buf = appendJSONString(buf, string(e.Type))
	buf = append(buf, `,"uid":`...)
	buf = strconv.AppendInt(buf, int64(e.UID), 10)
	return append(buf, '}')
}

// appendJSONString writes a string as RFC 8785 does: nothing is escaped but what JSON demands. The
// string must be UTF-8.
func appendJSONString(buf []byte, s string) []byte {
	buf = append(buf, '"')
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		buf = append(buf, s...)
		return append(buf, '"')
	}
	const hexadecimal = "0123456789abcdef"
	for _, r := range s {
		switch r {
		case '"', '\\':
			buf = append(buf, '\\', byte(r))
		case '\b':
			buf = append(buf, `\b`...)
		case '\t':
			buf = append(buf, `\t`...)
		case '\n':
			buf = append(buf, `\n`...)
		case '\f':
			buf = append(buf, `\f`...)
		case '\r':
			buf = append(buf, `\r`...)
		default:
			if r < ' ' {
				buf = append(buf, '\\', 'u', '0', '0', hexadecimal[r>>4], hexadecimal[r&0xf])
				continue
			}
			buf = utf8.AppendRune(buf, r)
		}
	}
	return append(buf, '"')
}

// inventorySize estimates the bytes of an inventory, so that writing one does not copy it over and over.
func inventorySize(entries []Entry) int {
	const perEntry = len(`{"component":"","digest":"sha256:","gid":65535,"linkTarget":"","mode":4095,"path":"","size":1000000000,"type":"directory","uid":65535},`) + 64
	n := 256
	for i := range entries {
		n += perEntry + len(entries[i].Path) + len(entries[i].LinkTarget) + len(entries[i].Component)
	}
	return n
}
