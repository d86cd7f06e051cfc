package suite

import (
	"context"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/schema"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// document is a document of the suite while it is being validated.
type document struct {
	path   string
	text   []byte
	limits strictjson.Limits
	// digest is the canonical identity; empty where the text has none.
	digest digest.Digest
	// broken means that the document's contents are not known: it is missing, is not readable or is
	// something else. Why has been reported where it was found, so whatever depends on the contents
	// says nothing.
	broken bool
	// faults are the pointers of what is wrong with the document by itself.
	faults []string
	// variantDigests are the identities that the variants of a tool provider have, whatever they state;
	// one that cannot be computed is empty.
	variantDigests []digest.Digest
	// reported counts the problems that cross-checks found in the document.
	reported int

	// soundness remembers what sound found out.
	soundness map[string]bool

	// A parsed document is many times as large as its text, and only its problems need it again. So it
	// is kept while the document is loaded, and later made anew for one document at a time. A document
	// that is looked at between the others keeps it.
	tree  *strictjson.Document
	lines []int
	keeps bool
	turn  *turn
}

// turn is shared by all documents: it holds the one that has its tree at hand.
type turn struct{ current *document }

func (d *document) parsed() *strictjson.Document {
	if d.tree != nil {
		return d.tree
	}
	d.tree, _ = strictjson.Parse(d.path, d.text, d.limits)
	if !d.keeps {
		if d.turn.current != nil {
			d.turn.current.release()
		}
		d.turn.current = d
	}
	return d.tree
}

func (d *document) release() { d.tree, d.lines = nil, nil }

// place finds the line and column of the value at a pointer, or of the nearest value above it.
func (d *document) place(pointer string) problem.Place {
	place := problem.Place{Path: d.path, Pointer: pointer}
	tree := d.parsed()
	if tree == nil {
		return place
	}
	if d.lines == nil {
		d.lines = []int{0}
		for i, c := range d.text {
			if c == '\n' {
				d.lines = append(d.lines, i+1)
			}
		}
	}
	v, ok := tree.Lookup(pointer)
	for !ok {
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
		v, ok = tree.Lookup(pointer)
	}
	offset := v.Offset
	place.Line, _ = slices.BinarySearch(d.lines, offset+1)
	place.Column = offset - d.lines[place.Line-1] + 1
	return place
}

// report adds a problem of the document. What goes beyond the limit of a whole report is only counted.
func (d *document) report(f *findings, rule *problem.Rule, pointer, format string, args ...any) {
	d.reported++
	if d.reported > MaxProblems {
		f.omitted++
		return
	}
	f.add(rule, d.place(pointer), format, args...)
}

// sound tells whether the value at a pointer, and everything below it, is as its schema wants it, so
// that conclusions may be drawn from what it does not hold.
func (d *document) sound(pointer string) bool {
	if d.broken {
		return false
	}
	if len(d.faults) == 0 {
		return true
	}
	sound, known := d.soundness[pointer]
	if !known {
		sound = d.judge(pointer)
		if d.soundness == nil {
			d.soundness = map[string]bool{}
		}
		d.soundness[pointer] = sound
	}
	return sound
}

func (d *document) judge(pointer string) bool {
	if _, exists := d.parsed().Lookup(pointer); !exists {
		// It may be missing because of any fault above.
		return !slices.ContainsFunc(d.faults, func(fault string) bool { return atOrBelow(pointer, fault) })
	}
	return !slices.ContainsFunc(d.faults, func(fault string) bool { return atOrBelow(fault, pointer) })
}

// node is a document with its contents, as far as they are known.
type node[T any] struct {
	document
	doc T
}

func (n *node[T]) loaded() Loaded[T] { return Loaded[T]{Path: n.path, Digest: n.digest, Doc: n.doc} }

// documentRef is a place in a document that names another document by its path.
type documentRef struct {
	path string
	// from is nil for the suite manifest, which nothing refers to.
	from *document
	// pointer leads to the path in the referring document.
	pointer string
}

// load reads the documents that references name, each once, and checks each by itself: as JSON, by
// its schema, for credentials, and by the given function. It returns one node a reference; two
// references to one path share theirs.
func load[T any](ctx context.Context, v *validation, mediaType string, refs []documentRef, check func(*node[T], *findings)) ([]*node[T], error) {
	nodes := make([]*node[T], len(refs))
	byPath := make(map[string]*node[T], len(refs))
	var unique []*node[T]
	for i, ref := range refs {
		n, ok := byPath[ref.path]
		if !ok {
			n = &node[T]{document: document{path: ref.path, limits: v.limits.JSON, turn: &v.turn}}
			byPath[ref.path] = n
			if v.openDocument(&n.document, ref) {
				unique = append(unique, n)
			} else {
				n.broken = true
			}
		}
		nodes[i] = n
	}
	found := make([]findings, len(unique))
	err := parallel(ctx, len(unique), func(i int) {
		n, f := unique[i], &found[i]
		if n.read(mediaType, v.known[n.path], f); !n.broken {
			decode(n.tree, n.faults, &n.doc)
			if check != nil {
				check(n, f)
			}
		}
		n.release()
	})
	for i, n := range unique {
		v.found.merge(&found[i])
		v.identities[n.path] = n.digest
	}
	return nodes, err
}

// openDocument finds the text of a document, and reports why it cannot be had.
func (v *validation) openDocument(d *document, ref documentRef) bool {
	if ref.path == "" {
		return false
	}
	entry, fault := v.regularFile(ref.path)
	if fault != "" {
		v.found.add(problem.GraphMissing, ref.place(), "%s", fault)
		return false
	}
	text, ok := v.index.Texts[ref.path]
	switch {
	case ok:
		d.text = text
		return true
	case v.excused(ref.path):
		return false
	case entry.Size > v.limits.JSON.DocumentBytes:
		v.found.add(problem.JSONLimit, problem.Place{Path: ref.path}, "the document has %d bytes; the limit is %d", entry.Size, v.limits.JSON.DocumentBytes)
	default:
		v.found.add(problem.GraphMissing, ref.place(), "%s is no document; documents lie in files that end in .json", ref.path)
	}
	return false
}

func (r documentRef) place() problem.Place {
	if r.from == nil {
		return problem.Place{Path: r.path}
	}
	return r.from.place(r.pointer)
}

// regularFile finds the regular file at a path that something refers to. The fault says why there is
// none; it is empty also when reading the content has reported that already.
func (v *validation) regularFile(path string) (entry content.Entry, fault string) {
	entry, ok := v.index.Entry(path)
	switch {
	case ok && entry.Type == content.File, v.excused(path):
		return entry, ""
	case ok:
		return entry, path + " is a " + string(entry.Type) + "; a reference names a regular file"
	case path == ManifestPath:
		return entry, "the content has no " + ManifestPath + ", with which a suite begins"
	default:
		return entry, path + " is not in the content; add the file or correct the path"
	}
}

// excused tells whether what is wrong at a path may follow from a problem that reading the content has
// reported: one at the path or above, or one that ended the reading.
func (v *validation) excused(path string) bool {
	if v.incomplete {
		return true
	}
	for len(v.troubled) > 0 {
		if v.troubled[path] {
			return true
		}
		slash := strings.LastIndexByte(path, '/')
		if slash < 0 {
			return false
		}
		path = path[:slash]
	}
	return false
}

// read parses a document, and unless its identity is known holds it against its schema and computes that.
func (d *document) read(mediaType string, known digest.Digest, f *findings) {
	tree, problems := strictjson.Parse(d.path, d.text, d.limits)
	d.tree = tree
	if tree == nil {
		f.problems = append(f.problems, problems...)
		d.broken = true
		return
	}
	if d.digest = known; known == "" {
		if len(problems) == 0 {
			d.digest, _ = tree.Digest()
		}
		problems = append(problems, schema.Check(tree, mediaType)...)
	}
	for _, p := range problems {
		d.faults = append(d.faults, p.Pointer)
		// A document of another kind, or with more faults than are listed, says nothing reliable.
		if p.Pointer == "/mediaType" || p.Pointer == "/schemaVersion" {
			d.broken = true
		}
	}
	d.broken = d.broken || len(problems) > min(schema.MaxProblems, strictjson.MaxProblems)
	f.problems = append(f.problems, problems...)
	scanSecrets(tree, mediaType, f)
}
