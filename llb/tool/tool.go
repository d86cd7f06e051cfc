// Package tool is what runs in the graph: the three steps that must read many bytes, so that BuildKit
// caches them by content instead of a frontend repeating them on every build. Each reads its mounts,
// writes one result directory, and neither needs nor has a network.
//
// A tool succeeds whatever it finds: violations are part of its result, so that the frontend can report
// them with their places. It fails only when reading or writing does.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// The names of the tools, as arguments behind "tool".
const (
	Open    = "open"
	Scan    = "scan"
	Compose = "compose"
)

// Where a tool finds its mounts, and where it writes.
const (
	// SourceDir holds the suite source for open.
	SourceDir = "/in/source"
	// RootDir holds the root filesystem for scan.
	RootDir = "/in/root"
	// SuiteDir, BaseDir and HarnessDir hold the results of open and scan for compose; RequestDir holds
	// the request.
	SuiteDir   = "/in/suite"
	BaseDir    = "/in/base"
	HarnessDir = "/in/harness"
	RequestDir = "/in/request"
	// OutDir is the writable mount that becomes the result.
	OutDir = "/out"
)

// The files of the results, relative to their directory.
const (
	// IndexFile is open's content index.
	IndexFile = "index"
	// ObjectsFile holds the facts of the payloads' native files and scripts, by open.
	ObjectsFile = "objects.json"
	// IdentitiesFile holds the identities of a valid suite's documents, by open.
	IdentitiesFile = "identities.json"
	// ContentDir is where open extracts the content of an archive.
	ContentDir = "content"
	// RepeatedDir is where open copies the repeated files of a directory's payloads, each at its content
	// path.
	RepeatedDir = "repeated"
	// ScanFile is scan's result.
	ScanFile = "scan"
	// RequestFile is the request that compose reads.
	RequestFile = "request.json"
	// InventoryFile is the final inventory, canonical bytes, by compose.
	InventoryFile = "inventory.json"
	// ComposedFile is what compose tells the frontend.
	ComposedFile = "composed.json"
)

// Request is what compose is asked to compose, besides what its mounts tell.
type Request struct {
	Target   string         `json:"target"`
	Platform suite.Platform `json:"platform"`
	Base     image.Source   `json:"base"`
	Harness  *image.Source  `json:"harness,omitempty"`
	// Directories is the digest of the modes of the suite's directories. BuildKit may not notice that one of
	// a local context changed; requests that differ are not answered from the cache.
	Directories digest.Digest `json:"directories"`
}

// NewRequest asks for the composition of planned inputs.
func NewRequest(in image.Inputs) Request {
	return Request{
		Target:      in.Selection.Target,
		Platform:    in.Selection.Platform,
		Base:        in.Base,
		Harness:     in.Harness,
		Directories: directories(in.Index),
	}
}

func directories(index *content.Index) digest.Digest {
	digester := digest.SHA256.Digester()
	for _, e := range index.Entries {
		if e.Type == content.Directory {
			fmt.Fprintf(digester.Hash(), "%o %q\n", e.Mode, e.Path)
		}
	}
	return digester.Digest()
}

// Run executes one tool by its arguments, the words behind "tool".
func Run(ctx context.Context, args []string) error {
	return mounts("/").run(ctx, args)
}

// mounts is the directory that everything is mounted below.
type mounts string

func (m mounts) path(elements ...string) string {
	return filepath.Join(append([]string{string(m)}, elements...)...)
}

func (m mounts) run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("a tool takes one argument, its name: %s, %s or %s", Open, Scan, Compose)
	}
	switch args[0] {
	case Open:
		return m.open(ctx)
	case Scan:
		return m.scan(ctx)
	case Compose:
		return m.compose(ctx)
	}
	return fmt.Errorf("unknown tool %q: there are %s, %s and %s", args[0], Open, Scan, Compose)
}

func (m mounts) open(ctx context.Context) error {
	index, err := content.Open(ctx, m.path(SourceDir), content.Options{
		Limits:  content.DefaultLimits(),
		Digest:  true,
		Extract: m.path(OutDir, ContentDir),
	})
	if err != nil {
		return fmt.Errorf("opening the suite: %w", err)
	}
	dir := m.path(SourceDir)
	if index.Form != content.FormDirectory {
		dir = m.path(OutDir, ContentDir)
	}
	objects, err := image.ScanContent(ctx, dir, index)
	if err != nil {
		return fmt.Errorf("reading the native files of the suite: %w", err)
	}
	if err := m.write(ObjectsFile, encodeJSON(objects)); err != nil {
		return err
	}
	graph, _, err := suite.Validate(ctx, index, content.DefaultLimits())
	if err != nil {
		return err
	}
	if graph == nil {
		graph = &suite.Graph{} // content that is not valid is not built from
	}
	if err := m.copyRepeated(ctx, index, graph); err != nil {
		return err
	}
	if err := m.write(IdentitiesFile, encodeJSON(graph.Identities)); err != nil {
		return err
	}
	return m.write(IndexFile, index.Encode)
}

// copyRepeated copies the repeated files of all payloads.
func (m mounts) copyRepeated(ctx context.Context, index *content.Index, graph *suite.Graph) error {
	var repeated []string
	for _, provider := range graph.ToolProviders {
		for _, variant := range provider.Doc.Variants {
			repeated = append(repeated, image.Repeated(index, variant.PayloadRoot)...)
		}
	}
	if len(repeated) == 0 {
		return nil
	}
	slices.Sort(repeated)
	return index.CopyFiles(ctx, m.path(SourceDir), m.path(OutDir, RepeatedDir), slices.Compact(repeated))
}

func (m mounts) scan(ctx context.Context) error {
	root, err := os.OpenRoot(m.path(RootDir))
	if err != nil {
		return err
	}
	defer root.Close()
	result, err := image.ScanDir(ctx, root)
	if err != nil {
		return fmt.Errorf("scanning the root filesystem: %w", err)
	}
	return m.write(ScanFile, result.Encode)
}

func (m mounts) compose(ctx context.Context) error {
	in, scans, err := m.composeInputs(ctx)
	if err != nil {
		return err
	}
	recipe, err := image.NewRecipe(in)
	if err != nil {
		return fmt.Errorf("composing %s: %w", in.Selection.Target, err)
	}
	composed, inventory, err := image.Compose(ctx, recipe, scans)
	if err != nil {
		return fmt.Errorf("composing %s: %w", in.Selection.Target, err)
	}
	if err := m.write(InventoryFile, func(w io.Writer) error {
		_, err := w.Write(inventory)
		return err
	}); err != nil {
		return err
	}
	return m.write(ComposedFile, encodeJSON(composed))
}

func (m mounts) composeInputs(ctx context.Context) (image.Inputs, image.Scans, error) {
	var (
		in    image.Inputs
		scans image.Scans
	)
	request, err := read(m.path(RequestDir), RequestFile, DecodeJSON[Request])
	if err != nil {
		return in, scans, err
	}
	index, err := read(m.path(SuiteDir), IndexFile, content.Decode)
	if err != nil {
		return in, scans, err
	}
	known, err := read(m.path(SuiteDir), IdentitiesFile, DecodeJSON[suite.Identities])
	if err != nil {
		return in, scans, err
	}
	graph, _, err := suite.ValidateKnown(ctx, index, content.DefaultLimits(), *known)
	if err != nil {
		return in, scans, err
	}
	if graph == nil {
		return in, scans, errors.New("the suite is not valid; only a valid suite is composed")
	}
	if directories(index) != request.Directories {
		return in, scans, errors.New("the request is about directories of other modes than the suite's")
	}
	selection, err := graph.Select(request.Target, request.Platform)
	if err != nil {
		return in, scans, err
	}
	objects, err := read(m.path(SuiteDir), ObjectsFile, DecodeJSON[map[string]abi.Facts])
	if err != nil {
		return in, scans, err
	}
	in = image.Inputs{
		Selection: selection, Index: index, SuiteDigest: index.SuiteDigest, Objects: *objects,
		Base: request.Base, Harness: request.Harness,
	}
	if scans.Base, err = read(m.path(BaseDir), ScanFile, image.DecodeScan); err != nil {
		return in, scans, err
	}
	if request.Harness != nil {
		if scans.Harness, err = read(m.path(HarnessDir), ScanFile, image.DecodeScan); err != nil {
			return in, scans, err
		}
	}
	return in, scans, nil
}

func encodeJSON(value any) func(io.Writer) error {
	return func(w io.Writer) error { return json.NewEncoder(w).Encode(value) }
}

// DecodeJSON reads a result that is JSON.
func DecodeJSON[T any](r io.Reader) (*T, error) {
	value := new(T)
	return value, json.NewDecoder(r).Decode(value)
}

func read[T any](dir, name string, decode func(io.Reader) (*T, error)) (*T, error) {
	file, err := os.OpenInRoot(dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	value, err := decode(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return value, nil
}

func (m mounts) write(name string, encode func(io.Writer) error) (err error) {
	file, err := os.OpenFile(m.path(OutDir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := encode(file); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
