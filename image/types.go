// Package image is what is in a sandbox image and why: it composes a runtime base, a harness and the
// bundles of a selection into one filesystem, and derives the inventory, the binding, the runtime
// contract and the image config from it. It is pure: nothing here knows of BuildKit or a registry.
package image

import (
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Media types of the records that an image embeds.
const (
	MediaTypeBinding   = "application/vnd.agentsuite.sandbox.binding.v1+json"
	MediaTypeInventory = "application/vnd.agentsuite.sandbox.inventory.v1+json"
)

// Entry is one entry of a root filesystem or of a final inventory. Path has no leading slash.
type Entry struct {
	Path       string        `json:"path"`
	Type       content.Type  `json:"type"`
	Mode       uint32        `json:"mode"` // permission, set-id and sticky bits; 0777 for a symlink
	UID        int           `json:"uid"`
	GID        int           `json:"gid"`
	Size       int64         `json:"size,omitempty"`
	Digest     digest.Digest `json:"digest,omitempty"`
	LinkTarget string        `json:"linkTarget,omitempty"`
	Component  string        `json:"component,omitempty"`
}

// Scan is everything that composing and checking need to know of one root filesystem.
type Scan struct {
	// Entries are sorted by path as bytes, without the root directory. A file with several names is a
	// file under each of them.
	Entries []Entry `json:"entries"`
	// Files holds the bytes of the few small files that composing reads: the user and group databases
	// and the dynamic loaders' configuration.
	Files map[string][]byte `json:"files"`
	// Objects are the facts of every ELF file and script, by path.
	Objects map[string]abi.Facts `json:"objects"`
	// Problems and Warnings were found while scanning: device nodes, names that are not UTF-8, set-id
	// files.
	Problems []problem.Problem `json:"problems,omitempty"`
	Warnings []problem.Warning `json:"warnings,omitempty"`
}

// Source is one pinned image: what the profile states, and the config that its manifest commits to.
type Source struct {
	Pin    suite.BaseImage           `json:"pin"`
	Config dockerspec.DockerOCIImage `json:"config"`
}

// Inputs are what an image is planned from: the selection, the content that it lies in, and the
// configs of its pinned images.
type Inputs struct {
	Selection   *suite.Selection
	Index       *content.Index
	SuiteDigest digest.Digest
	// Objects are the facts of the ELF files and scripts of the content, as [ScanContent] reads them.
	Objects map[string]abi.Facts
	Base    Source
	// Harness is nil for a tool provider image.
	Harness *Source
	// Labels are those that the person who builds adds; none may begin with org.agentsuite.
	Labels map[string]string
}

// Scans are the scanned filesystems of the pinned images; Harness is nil for a tool provider image.
type Scans struct {
	Base, Harness *Scan
}

// Composed is what composing found out that only the filesystems can tell; everything else of a
// [Plan] follows from the [Inputs]. It is small, whatever the size of the filesystem.
type Composed struct {
	// Inventory describes the bytes of the final inventory.
	Inventory suite.Descriptor `json:"inventory"`
	// Entries is the number of inventory entries.
	Entries int `json:"entries"`
	// User is the numeric user that the image runs as.
	User User `json:"user"`
	// Restored are directories that a bundle's parents would have changed, as the lower inputs have
	// them; the metadata layer puts them back.
	Restored []Entry           `json:"restored,omitempty"`
	Problems []problem.Problem `json:"problems,omitempty"`
	Warnings []problem.Warning `json:"warnings,omitempty"`
}

// User is a numeric user and group.
type User struct {
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
}
