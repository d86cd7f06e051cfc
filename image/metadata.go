package image

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gowebpki/jcs"
	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// The paths of the metadata, relative to the root of the image.
const (
	// MetadataDir is the directory that holds all of it and nothing else.
	MetadataDir = ".agentsuite"

	BindingPath                 = MetadataDir + "/binding.json"
	InventoryPath               = MetadataDir + "/inventory.json"
	RuntimePath                 = MetadataDir + "/runtime.json"
	CompositionPath             = MetadataDir + "/composition.json"
	ToolProviderCompositionPath = MetadataDir + "/tool-provider-composition.json"
	AgentPath                   = MetadataDir + "/agent.json"
	InstructionsPath            = MetadataDir + "/instructions.md"
)

// ToolProviderDir is the directory of a provider's metadata, relative to the root of the image.
func ToolProviderDir(key suite.ProviderKey) string {
	return path.Join(MetadataDir, "tool-providers", key.ID, key.Version)
}

// Modes of everything at and below /.agentsuite, which is owned by root.
const (
	MetadataFileMode = 0o444
	MetadataDirMode  = 0o555
)

func (f File) entry() Entry {
	return Entry{Path: f.Path, Type: content.File, Mode: f.Mode, Size: f.Size, Digest: f.Digest, Component: ComponentMetadata}
}

func generatedFile(at string, text []byte) File {
	return File{Path: at, Mode: MetadataFileMode, Digest: digest.FromBytes(text), Size: int64(len(text)), Text: string(text)}
}

// metadata lists what lies below /.agentsuite as far as the inputs alone tell: without the runtime
// contract, the binding and the inventory. Directories come parents first, both are sorted.
func metadata(in Inputs) (directories []Entry, files []File, err error) {
	sel := in.Selection
	var missing error
	embed := func(at, contentPath string) {
		e, ok := in.Index.Entry(contentPath)
		if !ok || e.Type != content.File {
			missing = fmt.Errorf("%s of the suite, which the image embeds, is no file of the content", contentPath)
		}
		files = append(files, File{Path: at, Mode: MetadataFileMode, Digest: e.Digest, Size: e.Size, Content: contentPath})
	}
	if sel.Agent != nil {
		composition, err := canonicalComposition(in)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, generatedFile(CompositionPath, composition))
		embed(AgentPath, sel.Agent.Path)
		embed(InstructionsPath, sel.Agent.Doc.Instructions.Path)
	} else {
		embed(ToolProviderCompositionPath, sel.ToolProviderComposition.Path)
	}
	for _, b := range sel.Bundles {
		dir := ToolProviderDir(b.Key())
		embed(path.Join(dir, "tool-provider.json"), b.Provider.Path)
		for _, t := range b.Provider.Doc.Tools {
			embed(path.Join(dir, "schemas", t.Name+".input.json"), t.InputSchema.Path)
			if t.OutputSchema != nil {
				embed(path.Join(dir, "schemas", t.Name+".output.json"), t.OutputSchema.Path)
			}
		}
	}
	if missing != nil {
		return nil, nil, missing
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return metadataDirectories(files), files, nil
}

func metadataDirectories(files []File) []Entry {
	dirs := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	var entries []Entry
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries = append(entries, Entry{Path: dir, Type: content.Directory, Mode: MetadataDirMode, Component: ComponentMetadata})
	}
	return entries
}

// canonicalComposition is the agent composition in canonical form, in which its identity is the digest
// of its bytes.
func canonicalComposition(in Inputs) ([]byte, error) {
	composition := in.Selection.Composition
	text, ok := in.Index.Texts[composition.Path]
	if !ok {
		return nil, fmt.Errorf("the composition %s is no text of the content", composition.Path)
	}
	canonical, err := jcs.Transform(text)
	if err != nil {
		return nil, fmt.Errorf("canonicalising the composition %s: %w", composition.Path, err)
	}
	if got := digest.FromBytes(canonical); got != composition.Digest {
		return nil, fmt.Errorf("the composition %s is %s, the suite states %s", composition.Path, got, composition.Digest)
	}
	return canonical, nil
}
