package llb

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/moby/buildkit/client/llb"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/llb/tool"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// Content is where the files of a suite's content lie: the context itself, or what the open tool
// extracted.
type Content struct {
	State llb.State
	// Dir is the directory of the content root in the state; empty for the state's own root.
	Dir string
	// Opened is what the open tool made of a directory: it holds the files that [image.Repeated] lists.
	Opened llb.State
}

// NewContent tells where the files of an index lie: in the source itself if that is a directory of
// content, else where the open tool extracted them.
func NewContent(index *content.Index, source, opened llb.State) Content {
	if index.Form == content.FormDirectory {
		return Content{State: source, Opened: opened}
	}
	return Content{State: opened, Dir: tool.ContentDir}
}

// Path is where a content path lies in the state.
func (c Content) Path(name string) string { return path.Join("/", c.Dir, name) }

// Sources are the states that an image is made from.
type Sources struct {
	Base llb.State
	// Harness is nil for a tool provider image.
	Harness *llb.State
	Content Content
	// Composed is the result of [Executable.Compose], which holds the final inventory.
	Composed llb.State
}

// Options say how an image is put together.
type Options struct {
	// Merge joins the layers by MergeOp; without it they are copied onto each other, which gives an
	// equivalent image with other digests.
	Merge bool
	// Constraints are added to every operation.
	Constraints []llb.ConstraintsOpt
}

// Image is the filesystem of a planned image.
//
// Every generated layer is made in scratch and stamped with the source epoch by one last copy, so it
// depends on nothing that lies below it.
func Image(plan *image.Plan, src Sources, opts Options) (llb.State, error) {
	e := emitter{plan: plan, src: src, opts: opts, epoch: time.Unix(plan.SourceEpoch, 0).UTC()}
	bottom := src.Base
	var states []llb.State
	var layers []image.Layer
	for _, layer := range plan.Layers {
		var state llb.State
		switch layer.Kind {
		case image.LayerRuntimeBase:
			continue
		case image.LayerHarnessStacked:
			bottom = *src.Harness
			continue
		case image.LayerHarnessBeside:
			state = e.beside(layer)
		case image.LayerBundles:
			state = e.bundles(layer)
		case image.LayerMetadata:
			state = e.metadata(layer)
		default:
			return llb.State{}, fmt.Errorf("planning %s: unknown kind of layer %q", plan.Target, layer.Kind)
		}
		states, layers = append(states, state), append(layers, layer)
	}
	if opts.Merge {
		return llb.Merge(append([]llb.State{bottom}, states...), e.named("merge the layers")...), nil
	}
	for i, state := range states {
		bottom = bottom.File(e.stamped(state), e.grouped(layers[i], ": copy onto the others")...)
	}
	return bottom, nil
}

type emitter struct {
	plan  *image.Plan
	src   Sources
	opts  Options
	epoch time.Time
}

// named names an operation for people. Names are no part of an operation, so they move no digest.
func (e emitter) named(name string) []llb.ConstraintsOpt {
	return withOptions(llb.WithCustomName(e.title(name)), e.opts.Constraints)
}

func (e emitter) title(name string) string {
	return fmt.Sprintf("[%s %s] %s", e.plan.Target, e.plan.Platform, name)
}

// grouped names the operation that makes a layer, or with more words another one on the way to it. People
// see all of them as one.
func (e emitter) grouped(layer image.Layer, more string) []llb.ConstraintsOpt {
	whole := e.title(layer.Name)
	return append(e.named(layer.Name+more), llb.ProgressGroup(whole, whole, false))
}

// stamped copies a whole state with the source epoch as the time of everything.
func (e emitter) stamped(state llb.State) *llb.FileAction {
	return llb.Copy(state, "/", "/", &llb.CopyInfo{CopyDirContentsOnly: true, CreatedTime: &e.epoch})
}

// beside is the final filesystem of an independent harness as one layer. Merging the harness's own
// layers instead would let a whiteout among them delete a file of the base.
func (e emitter) beside(layer image.Layer) llb.State {
	return llb.Scratch().File(e.stamped(*e.src.Harness), e.grouped(layer, "")...)
}

// bundles is one layer of bundles. It depends on their payloads and install roots alone, so every image
// that holds them shares the blob.
func (e emitter) bundles(layer image.Layer) llb.State {
	var action *llb.FileAction // a nil action starts a chain
	for _, bundle := range layer.Bundles {
		action = action.Copy(e.src.Content.State, e.src.Content.Path(bundle.PayloadRoot), bundle.InstallRoot, e.contents(bundle.Excluded))
		if bundle.Repeated {
			// A copy keeps hard links, so what may be one is copied once more from files that are none.
			action = action.Copy(e.src.Content.Opened, path.Join("/", tool.RepeatedDir, bundle.PayloadRoot), bundle.InstallRoot, e.contents(nil))
		}
		if len(bundle.Directories) > 0 {
			action = action.Copy(e.directories(layer, bundle), "/", "/", e.contents(nil))
		}
	}
	// Making an install root touches the directory that it lies in: always where a bundle made that
	// directory before, and on old daemons with the directories of its own way too.
	for _, dir := range ways(layer.Bundles) {
		action = action.Copy(blank(), blankDir, dir, &llb.CopyInfo{CopyDirContentsOnly: true, CreatedTime: &e.epoch})
	}
	return llb.Scratch().File(action, e.grouped(layer, "")...)
}

// contents copies the contents of a directory as a bundle's layer has them.
func (e emitter) contents(excluded []string) *llb.CopyInfo {
	return &llb.CopyInfo{
		CopyDirContentsOnly: true,
		CreateDestPath:      true,
		ExcludePatterns:     literalPatterns(excluded),
		ChownOpt:            owner(0, 0),
		CreatedTime:         &e.epoch,
	}
}

// directories are a bundle's directories that have modes of their own, and the way to them. BuildKit
// does not take a changed mode of a local directory for a change, so a mode that was copied with the
// payload may be that of an earlier build.
func (e emitter) directories(layer image.Layer, bundle image.BundleCopy) llb.State {
	var action *llb.FileAction
	has := map[string]bool{".": true}
	for _, dir := range bundle.Directories {
		for _, parent := range missing(path.Dir(dir.Path), has) {
			action = action.Mkdir("/"+parent, 0o755)
		}
		has[dir.Path] = true
		action = action.Mkdir("/"+dir.Path, fs.FileMode(dir.Mode))
	}
	return llb.Scratch().File(action, e.grouped(layer, ": make directories")...)
}

// metadata is the layer with /.agentsuite and the restored directories.
func (e emitter) metadata(layer image.Layer) llb.State {
	var action *llb.FileAction // a nil action starts a chain
	for _, dir := range layer.Directories {
		action = action.Mkdir("/"+dir.Path, fs.FileMode(dir.Mode))
	}
	for _, file := range layer.Files {
		dest, mode := "/"+file.Path, fs.FileMode(file.Mode)
		switch info := (&llb.CopyInfo{ChownOpt: owner(0, 0), Mode: &llb.ChmodOpt{Mode: mode}}); {
		case file.Content != "":
			action = action.Copy(e.src.Content.State, e.src.Content.Path(file.Content), dest, info)
		case file.Text != "":
			action = action.Mkfile(dest, mode, []byte(file.Text))
		default:
			action = action.Copy(e.src.Composed, path.Join("/", tool.InventoryFile), dest, info)
		}
	}
	if len(layer.Restored) > 0 {
		// A directory is restored by a copy: making one could not give it a sticky bit. The mode is a
		// number, the bits of stat(2), since an old daemon takes a mode in words for none at all.
		has := map[string]bool{".": true}
		for _, dir := range layer.Restored {
			// The parents that are not restored are what every directory on the way is. The copy's own way of
			// making them would give them its mode.
			for _, parent := range missing(path.Dir(dir.Path), has) {
				action = action.Mkdir("/"+parent, 0o755)
			}
			has[dir.Path] = true
			action = action.Copy(blank(), blankDir, "/"+dir.Path, &llb.CopyInfo{
				ChownOpt: owner(dir.UID, dir.GID),
				Mode:     &llb.ChmodOpt{Mode: fs.FileMode(dir.Mode)},
			})
		}
	}
	stage := llb.Scratch().File(action, e.grouped(layer, ": prepare")...)
	return llb.Scratch().File(e.stamped(stage), e.grouped(layer, "")...)
}

// missing lists a directory and its parents as far as the layer does not have them, parents first, and
// notes that it has them now.
func missing(dir string, has map[string]bool) []string {
	if has[dir] {
		return nil
	}
	has[dir] = true
	return append(missing(path.Dir(dir), has), dir)
}

// ways are the directories on the way to the install roots of bundles, sorted.
func ways(bundles []image.BundleCopy) []string {
	seen := map[string]bool{}
	for _, bundle := range bundles {
		for dir := path.Dir(bundle.InstallRoot); dir != "/"; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// blankDir is an empty directory of the state that blank returns. A copy of its contents copies nothing,
// and stamps the directory that it copies into.
const blankDir = "/directory"

func blank() llb.State {
	return llb.Scratch().File(llb.Mkdir(blankDir, 0o755), internal("make an empty directory"))
}

func owner(uid, gid int) *llb.ChownOpt {
	return &llb.ChownOpt{User: &llb.UserOpt{UID: uid}, Group: &llb.UserOpt{UID: gid}}
}

// literalPatterns turns paths into patterns that match them, and what lies below them, and nothing else.
func literalPatterns(paths []string) []string {
	patterns := make([]string, len(paths))
	for i, p := range paths {
		patterns[i] = literalPattern(p)
	}
	return patterns
}

func literalPattern(p string) string {
	var b strings.Builder
	for _, r := range p {
		switch {
		case strings.ContainsRune(`\*?[]!`, r): // an exclamation mark in front would turn the pattern around
			b.WriteRune('\\')
			b.WriteRune(r)
		case unicode.IsSpace(r): // white space at the ends would be cut off
			b.WriteString("[" + string(r) + "]")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
