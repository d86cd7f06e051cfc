package seal

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// directoryMode is the mode that a directory gets in an image when no inventory lists it.
const directoryMode = 0o755

// entryMembers is how many members an inventory entry has at least.
const entryMembers = 5

// inventory makes a variant's files list what lies below its payload root. What the author's list says
// beyond the content, the components and the order, stays.
func (s *sealer) inventory(v *variant) {
	d := v.provider.draft
	root := text(v.value, "payloadRoot")
	if root == "" {
		return
	}
	s.payloads[root] = true
	payload := s.index.Below(root)
	if len(payload) == 0 {
		s.own(problem.PayloadMissing, d, v.pointer("payloadRoot"),
			"there is nothing below %s; put the files of %s there, then seal again", problem.Quoted(root), v)
		s.leaveInventory(v)
		return
	}
	for _, e := range payload {
		if e.Type != content.Directory {
			v.provider.entries++
		}
	}
	if v.provider.entries > s.limits.JSON.DocumentMembers/entryMembers {
		s.own(problem.JSONLimit, d, v.pointer("payloadRoot"),
			"with an inventory of the %d entries below %s the document would have more than %d members, the limit; pack the payload into fewer files",
			len(payload), problem.Quoted(root), s.limits.JSON.DocumentMembers)
		s.leaveInventory(v)
		return
	}
	listed := map[string]*value{}
	var order []string
	for _, entry := range items(v.value, "files") {
		path := text(entry, "path")
		if path != "" && listed[path] == nil {
			listed[path] = entry
			order = append(order, path)
		}
	}
	found := map[string]content.Entry{}
	var added []string
	for _, e := range payload {
		path := strings.TrimPrefix(e.Path, root+"/")
		if e.Type == content.Directory && listed[path] == nil && !needsListing(e, s.index.Below(e.Path)) {
			continue
		}
		found[path] = e
		if listed[path] == nil {
			added = append(added, path)
		}
	}
	order = slices.DeleteFunc(order, func(path string) bool { return found[path].Path == "" })

	indent := d.itemIndent(member(v.value, "files"))
	texts := make([]string, 0, len(found))
	for _, path := range merge(order, added) {
		s.bytes[found[path].Path] = binding{d, v.pointer("files", len(texts))}
		if s.troubled[found[path].Path] {
			s.claim(d, v.pointer("files", len(texts)))
		}
		fields := inventoryFields(path, found[path])
		entry := listed[path]
		if entry != nil && !hasStray(entry, fields) {
			d.update(entry, fields)
			texts = append(texts, string(d.textOf(entry)))
			continue
		}
		if component := member(entry, "component"); component != nil {
			fields = append(fields, field{"component", string(d.textOf(component))})
		}
		texts = append(texts, d.objectText(indent, fields))
	}
	d.putArray(v.value, "files", texts, "runtime", "entrypoint")
}

// leaveInventory gives up on a variant's files, for a reason that is reported. What the author listed is
// not looked at, since it would only be held against a payload that is not what it should be.
func (s *sealer) leaveInventory(v *variant) {
	s.claim(v.provider.draft, v.pointer("files"))
	v.provider.putArray(v.value, "files", nil, "runtime", "entrypoint")
}

// needsListing tells whether an image would lose something of a payload directory that the inventory
// does not list. The write permission for group and others is not worth keeping: it comes from a
// lax umask, and no image may have it.
func needsListing(dir content.Entry, below []content.Entry) bool {
	return dir.Mode&^0o022 != directoryMode ||
		!slices.ContainsFunc(below, func(e content.Entry) bool { return e.Type != content.Directory })
}

// inventoryFields are the members that an inventory entry must have, in the order of the documents.
func inventoryFields(path string, e content.Entry) []field {
	fields := []field{
		{"path", quote(path)}, {"type", quote(string(e.Type))}, {"mode", strconv.FormatUint(uint64(e.Mode), 10)},
		{"uid", strconv.Itoa(e.UID)}, {"gid", strconv.Itoa(e.GID)},
	}
	switch e.Type {
	case content.File:
		fields = append(fields, field{"size", strconv.FormatInt(e.Size, 10)}, field{"digest", quote(string(e.Digest))})
	case content.Symlink, content.Hardlink:
		fields = append(fields, field{"linkTarget", quote(e.LinkTarget)})
	}
	return fields
}

// hasStray tells whether an inventory entry has a member that only entries of another type have. A
// size of 0 is never stray.
func hasStray(entry *value, fields []field) bool {
	for _, name := range []string{"size", "digest", "linkTarget"} {
		v := member(entry, name)
		if v != nil && (name != "size" || v.Text != "0") && !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return true
		}
	}
	return false
}

// merge puts added names into a list, each in front of the first one that is greater, so that a sorted
// list stays sorted and another one keeps its order. added is sorted.
func merge(list, added []string) []string {
	merged := make([]string, 0, len(list)+len(added))
	for _, name := range list {
		for len(added) > 0 && cmp.Less(added[0], name) {
			merged = append(merged, added[0])
			added = added[1:]
		}
		merged = append(merged, name)
	}
	return append(merged, added...)
}
