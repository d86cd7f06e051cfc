package seal

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// value shortens what is all over this package.
type value = strictjson.Value

// sealer holds the documents of a suite while their values are computed bottom-up. It repeats no rule
// of the validator: where a document is not what it should be, sealing leaves it alone, and the
// validator says so about the result.
type sealer struct {
	index  *content.Index
	limits content.Limits
	// drafts are the documents by path; nil for one that cannot be sealed.
	drafts map[string]*draft
	// troubled are the paths at which reading the content found problems.
	troubled map[string]bool
	// referenced are the paths of all files that a document names.
	referenced map[string]bool
	// payloads are the payload roots of all variants.
	payloads map[string]bool

	agents    map[string]*draft
	providers map[suite.ProviderKey]*provider

	problems []problem.Problem
	// owned are places about which, and below which, the validator could only repeat what is reported
	// elsewhere.
	owned map[place]bool
	// unknown are digests that could not be computed and hold a stand-in.
	unknown map[place]bool
	// bytes are the files that are bound by their bytes, and where.
	bytes map[string]binding
}

// place is a value of a document.
type place struct{ path, pointer string }

// binding is a value of a document that commits to a file's bytes.
type binding struct {
	*draft
	pointer string
}

// standIn takes the place of a digest that cannot be computed, so that the rest can be. It is never
// written.
const standIn = digest.Digest("sha256:0000000000000000000000000000000000000000000000000000000000000000")

func newSealer(index *content.Index, limits content.Limits) *sealer {
	troubled := map[string]bool{}
	for _, p := range index.Problems {
		troubled[p.Path] = true
	}
	return &sealer{
		index: index, limits: limits, troubled: troubled,
		drafts: map[string]*draft{}, referenced: map[string]bool{}, payloads: map[string]bool{},
		agents: map[string]*draft{}, providers: map[suite.ProviderKey]*provider{},
		owned: map[place]bool{}, unknown: map[place]bool{}, bytes: map[string]binding{},
	}
}

// suite seals every document that the suite manifest leads to.
func (s *sealer) suite(ctx context.Context, pins []Pin) error {
	manifest := s.open(suite.ManifestPath, suite.MediaTypeManifest)
	if manifest == nil {
		return nil
	}
	root := manifest.doc.Root
	if catalog := s.referencedDraft(member(root, "toolProviderCatalog"), suite.MediaTypeToolProviderCatalog); catalog != nil {
		s.catalog(catalog)
	}
	for _, ref := range items(root, "agents") {
		if agent := s.referencedDraft(ref, suite.MediaTypeAgent); agent != nil {
			s.agent(agent)
		}
	}
	for _, ref := range items(root, "compositions") {
		if composition := s.referencedDraft(ref, suite.MediaTypeComposition); composition != nil {
			s.composition(composition)
		}
	}
	for _, ref := range items(root, "toolProviderCompositions") {
		if composition := s.referencedDraft(ref, suite.MediaTypeToolProviderComposition); composition != nil {
			s.toolProviderComposition(composition)
		}
	}
	var profiles []*draft
	for _, ref := range items(root, "buildProfiles") {
		if profile := s.referencedDraft(ref, suite.MediaTypeBuildProfile); profile != nil {
			profiles = append(profiles, profile)
		}
	}
	if err := s.profiles(ctx, profiles, pins); err != nil {
		return err
	}
	s.manifest(manifest)
	return nil
}

func (s *sealer) manifest(d *draft) {
	root := d.doc.Root
	for i, ref := range items(root, "agents") {
		s.bindDocument(d, ref, suite.MediaTypeAgent, "agents", i)
	}
	s.bindDocument(d, member(root, "toolProviderCatalog"), suite.MediaTypeToolProviderCatalog, "toolProviderCatalog")
	for i, ref := range items(root, "compositions") {
		s.bindDocument(d, ref, suite.MediaTypeComposition, "compositions", i)
	}
	for i, ref := range items(root, "toolProviderCompositions") {
		s.bindDocument(d, ref, suite.MediaTypeToolProviderComposition, "toolProviderCompositions", i)
	}
	for i, ref := range items(root, "buildProfiles") {
		s.bindDocument(d, ref, suite.MediaTypeBuildProfile, "buildProfiles", i)
	}
	s.capabilities(d)
}

// capabilities states what the tool providers imply (section 7).
func (s *sealer) capabilities(d *draft) {
	bundled := false
	for _, p := range s.providers {
		bundled = bundled || len(p.variants) > 0
	}
	derived := suite.DerivedCapabilities(bundled)
	stated := member(d.doc.Root, "capabilities")
	if stated == nil && len(derived) == 0 {
		return
	}
	if stated != nil && stated.Kind == strictjson.Array && slices.EqualFunc(stated.Items, derived, func(v *value, c string) bool {
		return v.Kind == strictjson.String && v.Text == c
	}) {
		return
	}
	quoted := make([]string, len(derived))
	for i, c := range derived {
		quoted[i] = quote(c)
	}
	d.put(d.doc.Root, "capabilities", "["+strings.Join(quoted, d.style.comma)+"]", "buildProfiles")
}

func (s *sealer) agent(d *draft) {
	root := d.doc.Root
	s.bindFile(d, member(root, "instructions"), "instructions")
	for i, ref := range items(root, "evals") {
		if index := s.referencedDraft(ref, suite.MediaTypeEvalIndex); index != nil {
			for j, c := range items(index.doc.Root, "cases") {
				s.bindDocument(index, c, suite.MediaTypeEvalCase, "cases", j)
			}
		}
		s.bindDocument(d, ref, suite.MediaTypeEvalIndex, "evals", i)
	}
	s.agents[text(root, "id")] = d
}

// open returns the draft of a document, or nil when there is no such document or it cannot be read.
func (s *sealer) open(path, mediaType string) *draft {
	d, opened := s.drafts[path]
	if !opened {
		d = s.parse(path)
		s.drafts[path] = d
	}
	if d == nil || text(d.doc.Root, "mediaType") != mediaType {
		return nil
	}
	return d
}

func (s *sealer) parse(path string) *draft {
	entry, ok := s.index.Entry(path)
	data := s.index.Texts[path]
	if !ok || entry.Type != content.File || data == nil {
		return nil
	}
	doc, problems := strictjson.Parse(path, data, s.limits.JSON)
	if doc == nil || len(problems) > 0 || doc.Root.Kind != strictjson.Object {
		return nil
	}
	return newDraft(doc)
}

// referencedDraft opens the document that a reference names.
func (s *sealer) referencedDraft(ref *value, mediaType string) *draft {
	path := text(ref, "path")
	if path == "" {
		return nil
	}
	s.referenced[path] = true
	return s.open(path, mediaType)
}

// bindDocument makes a reference state the identity of the document that it names, as sealed. The
// document must be sealed before.
func (s *sealer) bindDocument(d *draft, ref *value, mediaType string, at ...any) {
	if text(ref, "path") == "" {
		return
	}
	target := s.referencedDraft(ref, mediaType)
	id := standIn
	if target != nil {
		id = documentDigest(target)
	}
	s.putDigest(d, ref, "digest", id, at, "path")
}

// documentDigest returns the identity of a document as sealed. Strictly read documents have one; should
// that ever not hold, the stand-in keeps them from being written.
func documentDigest(d *draft) digest.Digest {
	id, err := suite.DocumentDigest(d.text())
	if err != nil {
		return standIn
	}
	return id
}

// bindFile makes a file reference state the digest of the file's bytes.
func (s *sealer) bindFile(d *draft, ref *value, at ...any) {
	path := text(ref, "path")
	if path == "" {
		return
	}
	s.referenced[path] = true
	s.bytes[path] = binding{d, strictjson.Pointer(append(slices.Clone(at), "path")...)}
	id := standIn
	if entry, ok := s.index.Entry(path); ok && entry.Type == content.File {
		id = entry.Digest
	}
	s.putDigest(d, ref, "digest", id, at, "path")
}

// putDigest sets a member that holds a digest, and remembers a stand-in.
func (s *sealer) putDigest(d *draft, object *value, name string, id digest.Digest, at []any, behind ...string) {
	if id == standIn {
		s.unknown[place{d.doc.Path, strictjson.Pointer(append(slices.Clone(at), name)...)}] = true
	}
	d.putString(object, name, string(id), behind...)
}

// checkBytes refuses a file that is bound by its bytes while sealing rewrites it.
func (s *sealer) checkBytes() {
	for path, b := range s.bytes {
		if d := s.drafts[path]; d != nil && d.changed() {
			s.own(problem.IDFile, b.draft, b.pointer, "%s is a document that sealing writes, so its bytes cannot be bound here; use a copy of it", problem.Quoted(path))
			s.claim(b.draft, strings.TrimSuffix(b.pointer, "/path"))
		}
	}
}

// own reports a problem in words of its own, and claims its place.
func (s *sealer) own(rule *problem.Rule, d *draft, pointer, format string, args ...any) {
	s.claim(d, pointer)
	if len(s.problems) < suite.MaxProblems { // nobody reads more, and finding a place takes time
		s.problems = append(s.problems, s.problem(rule, d, pointer, format, args...))
	}
}

// claim marks a place that is not as it should be because of a fault elsewhere.
func (s *sealer) claim(d *draft, pointer string) {
	s.owned[place{d.doc.Path, pointer}] = true
}

func (s *sealer) problem(rule *problem.Rule, d *draft, pointer, format string, args ...any) problem.Problem {
	return problem.New(rule, d.doc.Place(pointer), format, args...)
}

// known tells whether a finding of the validator only follows from what is reported already.
func (s *sealer) known(p problem.Problem) bool {
	if p.Rule.Category == problem.Digest && s.unknown[place{p.Path, p.Pointer}] {
		return true
	}
	for pointer := p.Pointer; ; {
		if s.owned[place{p.Path, pointer}] {
			return true
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return false
		}
		pointer = pointer[:i]
	}
}

// sealedIndex is the index of the content as it will be.
func (s *sealer) sealedIndex() *content.Index {
	sealed := *s.index
	sealed.Entries = slices.Clone(s.index.Entries)
	sealed.Texts = maps.Clone(s.index.Texts)
	for path, data := range s.changes() {
		sealed.Texts[path] = data
		i, _ := slices.BinarySearchFunc(sealed.Entries, path, func(e content.Entry, p string) int { return cmp.Compare(e.Path, p) })
		sealed.Entries[i].Size = int64(len(data))
		sealed.Entries[i].Digest = digest.FromBytes(data)
	}
	return &sealed
}

// changes returns the sealed text of the documents that change.
func (s *sealer) changes() map[string][]byte {
	changes := map[string][]byte{}
	for path, d := range s.drafts {
		if d != nil && d.changed() {
			changes[path] = d.text()
		}
	}
	return changes
}

// onDisk moves a problem of the sealed text to where its cause stands in the author's text.
func (s *sealer) onDisk(p problem.Problem) problem.Problem {
	p.Place = s.placeOnDisk(p.Place)
	return p
}

func (s *sealer) placeOnDisk(at problem.Place) problem.Place {
	d := s.drafts[at.Path]
	if d == nil || !d.changed() || at.Line == 0 {
		return at
	}
	return d.doc.At(at.Pointer, d.originalOffset(at.Line, at.Column))
}

// member returns a member's value, or nil.
func member(v *value, name string) *value {
	if v == nil {
		return nil
	}
	m, _ := v.Member(name)
	return m
}

// items returns the elements of an array member that are objects; those that are not are nil, so that
// indexes stay what they are.
func items(v *value, name string) []*value {
	array := member(v, name)
	if array == nil {
		return nil
	}
	objects := make([]*value, len(array.Items))
	for i, item := range array.Items {
		if item.Kind == strictjson.Object {
			objects[i] = item
		}
	}
	return objects
}

// text returns a string member, or nothing.
func text(v *value, name string) string {
	m := member(v, name)
	if m == nil || m.Kind != strictjson.String {
		return ""
	}
	return m.Text
}

// platformOf returns the platform that an object states.
func platformOf(v *value) suite.Platform {
	p := member(v, "platform")
	return suite.Platform{OS: text(p, "os"), Architecture: text(p, "architecture")}
}
