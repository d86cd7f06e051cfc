package suite

import (
	"fmt"
	"path"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// checkInventory holds a variant's inventory against the payload: every entry must be there as it is
// described, and nothing else but directories (section 9.4).
func (v *validation) checkInventory(n *node[ToolProvider], i int, f *findings) {
	x := &n.doc.Variants[i]
	if x.PayloadRoot == "" || v.incomplete {
		return
	}
	at := strictjson.Pointer("variants", i)
	payload := v.index.Below(x.PayloadRoot)
	if len(payload) == 0 {
		if !v.excused(x.PayloadRoot) {
			n.report(f, problem.PayloadMissing, at+"/payloadRoot", "nothing lies below %s; add the payload or correct the path", x.PayloadRoot)
		}
		return
	}
	listed := make(map[string]int, len(x.Files))
	for j := range x.Files {
		e := &x.Files[j]
		if e.Path == "" {
			continue
		}
		pointer := func(member string) string { return at + strictjson.Pointer("files", j, member) }
		if first, again := listed[e.Path]; again {
			n.report(f, problem.InventoryUnique, pointer("path"), "%s is listed twice; the first is files[%d]", e.Path, first)
			continue
		}
		listed[e.Path] = j
		v.checkEntry(n, x, e, pointer, f)
	}
	if !n.sound(at + "/files") {
		return
	}
	for _, e := range payload {
		name := e.Path[len(x.PayloadRoot)+1:]
		if _, ok := listed[name]; !ok && e.Type != content.Directory && !v.excused(e.Path) {
			n.report(f, problem.PayloadUnlisted, at+"/files", "%s is in the payload and not in the inventory; remove it, or %s", e.Path, recordHint)
		}
	}
}

func (v *validation) checkEntry(n *node[ToolProvider], x *Variant, e *InventoryEntry, pointer func(string) string, f *findings) {
	full := x.PayloadRoot + "/" + e.Path
	if v.excused(full) {
		return
	}
	found, ok := v.index.Entry(full)
	if !ok {
		n.report(f, problem.PayloadMissing, pointer("path"), "%s is in the inventory and not in the payload; add it, or %s", full, recordHint)
		return
	}
	if e.LinkTarget != "" && !linkStaysBelow(x.PayloadRoot, full, e) {
		n.report(f, problem.PayloadLink, pointer("linkTarget"), "%s links to %s, which is not below %s", full, problem.Quoted(e.LinkTarget), x.PayloadRoot)
		return
	}
	if e.Type != found.Type {
		if e.Type != "" {
			n.report(f, problem.PayloadDifference, pointer("type"), "%s is a %s in the payload and a %s in the inventory; %s", full, found.Type, e.Type, recordHint)
		}
		return
	}
	if e.Type == content.File && e.Digest != "" && found.Digest != "" && (e.Digest != found.Digest || e.Size != found.Size) && n.sound(pointer("size")) {
		n.report(f, problem.PayloadDigest, pointer("digest"), "%s %s; %s", full, bytesDifference(found, e), sealHint)
	}
	if e.LinkTarget != "" && e.LinkTarget != found.LinkTarget {
		n.report(f, problem.PayloadDifference, pointer("linkTarget"), "%s links to %s in the payload and to %s in the inventory; %s",
			full, problem.Quoted(found.LinkTarget), problem.Quoted(e.LinkTarget), recordHint)
	}
	if e.Mode != found.Mode && n.sound(pointer("mode")) {
		n.report(f, problem.PayloadDifference, pointer("mode"), "%s has mode %04o (%d) in the payload and %04o (%d) in the inventory; %s",
			full, found.Mode, found.Mode, e.Mode, e.Mode, recordHint)
	}
	if found.UID != 0 || found.GID != 0 {
		n.report(f, problem.PayloadDifference, pointer("uid"), "%s belongs to %d:%d in the payload; a payload belongs to 0:0", full, found.UID, found.GID)
	}
}

func bytesDifference(found content.Entry, e *InventoryEntry) string {
	if found.Digest == e.Digest {
		return fmt.Sprintf("has %d bytes in the payload, the inventory says %d", found.Size, e.Size)
	}
	is, says := shortDigests(found.Digest, e.Digest)
	if found.Size == e.Size {
		return fmt.Sprintf("is %s in the payload, the inventory says %s", is, says)
	}
	return fmt.Sprintf("is %s (%d bytes) in the payload, the inventory says %s (%d bytes)", is, found.Size, says, e.Size)
}

// linkStaysBelow tells whether a link's target lies below the payload root. A hardlink states a
// content path; a symlink's target counts from the directory that the link lies in, textually.
func linkStaysBelow(payloadRoot, link string, e *InventoryEntry) bool {
	target := e.LinkTarget
	if e.Type == content.Symlink {
		if path.IsAbs(target) {
			return false
		}
		target = path.Join(path.Dir(link), target)
	}
	return strings.HasPrefix(path.Clean(target), payloadRoot+"/")
}
