package content

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// Media types of the OCI envelope of a suite (section 4.1).
const (
	ArtifactType   = "application/vnd.agentsuite.suite.v1"
	LayerMediaType = "application/vnd.agentsuite.content.v1.tar+gzip"
)

const (
	markerFile = ocispec.ImageLayoutFile
	indexFile  = ocispec.ImageIndexFile
	blobsDir   = ocispec.ImageBlobsDir + "/sha256/"
)

// emptyConfig is the config of every suite (section 4.3), and emptyDigest its digest.
const emptyConfig = "{}"

var emptyDigest = digest.FromString(emptyConfig)

// blob is what is known of a file of an OCI layout, a blob or another, once it has been read.
type blob struct {
	// wrong says what it is instead of a regular file; the rest is then empty.
	wrong string
	size  int64
	// digest is empty if the file was not read.
	digest digest.Digest
	// text holds the bytes of what was read as text.
	text []byte
	// layer is what was read as a content layer.
	layer *layer
	// skipped tells that a stream brought too much to keep what this file holds.
	skipped bool
}

// layout gives access to the files of an OCI layout, in whichever way it is stored.
type layout interface {
	// text reads a small file; one that is larger than a JSON document may be is not read.
	text(ctx context.Context, name string) (*blob, error)
	// layer reads a content layer; if its size is not the one expected, it is not read.
	layer(ctx context.Context, name string, size int64) (*blob, error)
	// discard removes what was extracted of the layers read, except of one.
	discard(except *layer) error
}

// envelope reads what an OCI layout wraps around a suite's content (section 4).
type envelope struct {
	findings
	ctx    context.Context
	limits Limits
	files  layout
	// bytes is the size of all blobs referenced so far.
	bytes int64

	// manifest and content are set once they are read and verified.
	manifest       []byte
	manifestDigest digest.Digest
	content        *layer
}

// descriptor is an OCI descriptor, and where it stands.
type descriptor struct {
	digest  digest.Digest
	size    int64
	doc     *strictjson.Document
	pointer string
}

// read reads everything. All its errors are trouble, or errStop.
func (v *envelope) read() error {
	found, err := v.marker()
	if err != nil {
		return err
	}
	index, err := v.document(indexFile, problem.OCIIndex, found)
	if index == nil || err != nil {
		return err
	}
	selected, err := v.index(index)
	if selected == nil || err != nil {
		return err
	}
	b, err := v.blob(selected, false)
	if b == nil || err != nil {
		return err
	}
	v.manifest, v.manifestDigest = b.text, b.digest
	manifest, err := v.parse(blobName(selected.digest), b.text)
	if manifest == nil || err != nil {
		return err
	}
	config, content, err := v.readManifest(manifest)
	if err != nil {
		return err
	}
	if config != nil {
		if _, err := v.blob(config, false); err != nil {
			return err
		}
	}
	if content != nil {
		b, err := v.blob(content, true)
		if b == nil || err != nil {
			return err
		}
		v.content = b.layer
		return v.add(b.layer.problems...)
	}
	return nil
}

// marker reads the oci-layout file, and tells whether there is one.
func (v *envelope) marker() (bool, error) {
	b, err := v.files.text(v.ctx, markerFile)
	if err != nil {
		return false, err
	}
	if b.wrong != "" {
		return false, v.report(problem.OCILayoutFile, markerFile,
			"the file %s; expected an OCI image layout (content that comes as an archive is compressed with gzip)", b.wrong)
	}
	before := len(v.problems)
	doc, err := v.textDocument(markerFile, b)
	if doc == nil || err != nil || len(v.problems) > before {
		return true, err
	}
	if doc.Root.Kind == strictjson.Object && len(doc.Root.Members) == 1 {
		if m := doc.Root.Members[0]; m.Name == "imageLayoutVersion" && m.Value.Kind == strictjson.String && m.Value.Text == ocispec.ImageLayoutVersion {
			return true, nil
		}
	}
	return true, v.reportIn(problem.OCILayoutFile, doc, "", `expected {"imageLayoutVersion":"1.0.0"} and nothing else`)
}

// document reads a JSON document that is no blob.
func (v *envelope) document(name string, rule *problem.Rule, expected bool) (*strictjson.Document, error) {
	b, err := v.files.text(v.ctx, name)
	if err != nil {
		return nil, err
	}
	if b.wrong != "" {
		if !expected {
			return nil, nil // there is no layout at all, which has been said
		}
		return nil, v.report(rule, name, "the file %s; expected the layout's OCI image index", b.wrong)
	}
	return v.textDocument(name, b)
}

func (v *envelope) textDocument(name string, b *blob) (*strictjson.Document, error) {
	switch {
	case b.skipped:
		return nil, v.tooMuch(name)
	case b.text == nil:
		return nil, v.report(problem.OCILimit, name, "the document has %d bytes; the limit is %d", b.size, v.limits.JSON.DocumentBytes)
	}
	return v.parse(name, b.text)
}

func (v *envelope) tooMuch(name string) error {
	return v.report(problem.OCILimit, name, "the stream brings more than is kept before it is known what it belongs to; give the layout as a file or a directory")
}

func (v *envelope) parse(name string, text []byte) (*strictjson.Document, error) {
	doc, problems := strictjson.Parse(name, text, v.limits.JSON)
	return doc, v.add(problems...)
}

func (v *envelope) reportIn(rule *problem.Rule, doc *strictjson.Document, pointer, format string, args ...any) error {
	return v.add(problem.New(rule, doc.Place(pointer), format, args...))
}

func (v *envelope) index(doc *strictjson.Document) (*descriptor, error) {
	if ok, err := v.head(problem.OCIIndex, doc, "an OCI image index", ocispec.MediaTypeImageIndex); !ok || err != nil {
		return nil, err
	}
	manifests, ok := member(doc.Root, "manifests", strictjson.Array)
	switch {
	case !ok:
		return nil, v.reportIn(problem.OCIIndex, doc, "/manifests", `expected the array "manifests" of an OCI image index`)
	case len(manifests.Items) > v.limits.OCIDescriptors:
		return nil, v.reportIn(problem.OCILimit, doc, "/manifests", "the index has %d descriptors; the limit is %d", len(manifests.Items), v.limits.OCIDescriptors)
	case len(manifests.Items) != 1:
		return nil, v.reportIn(problem.OCIIndex, doc, "/manifests", "expected exactly one descriptor, of the suite's manifest; found %d", len(manifests.Items))
	}
	return v.descriptor(doc, "/manifests/0", manifests.Items[0], ocispec.MediaTypeImageManifest, problem.OCIIndex)
}

func (v *envelope) readManifest(doc *strictjson.Document) (config, content *descriptor, err error) {
	if ok, err := v.head(problem.OCIManifest, doc, "an OCI image manifest", ocispec.MediaTypeImageManifest); !ok || err != nil {
		return nil, nil, err
	}
	if artifact, ok := member(doc.Root, "artifactType", strictjson.String); !ok || artifact.Text != ArtifactType {
		if err := v.reportIn(problem.OCIManifest, doc, "/artifactType", `expected the artifact type "%s"; found %s`, ArtifactType, textOf(doc.Root, "artifactType")); err != nil {
			return nil, nil, err
		}
	}
	if _, ok := doc.Root.Member("subject"); ok {
		if err := v.reportIn(problem.OCISubject, doc, "/subject", `expected no "subject": a suite says nothing about other artifacts`); err != nil {
			return nil, nil, err
		}
	}
	if config, err = v.config(doc); err != nil {
		return nil, nil, err
	}
	layers, ok := member(doc.Root, "layers", strictjson.Array)
	switch {
	case !ok:
		err = v.reportIn(problem.OCILayer, doc, "/layers", `expected the array "layers" of an OCI image manifest`)
	case len(layers.Items) != 1:
		err = v.reportIn(problem.OCILayer, doc, "/layers", "expected exactly one layer, the content; found %d", len(layers.Items))
	default:
		content, err = v.descriptor(doc, "/layers/0", layers.Items[0], LayerMediaType, problem.OCILayer)
	}
	return config, content, err
}

func (v *envelope) config(doc *strictjson.Document) (*descriptor, error) {
	value, ok := doc.Root.Member("config")
	if !ok {
		return nil, v.reportIn(problem.OCIConfig, doc, "/config", `expected the member "config", the descriptor of the OCI empty config`)
	}
	config, err := v.descriptor(doc, "/config", value, ocispec.MediaTypeEmptyJSON, problem.OCIConfig)
	if config == nil || err != nil {
		return nil, err
	}
	if config.digest != emptyDigest || config.size != int64(len(emptyConfig)) {
		return nil, v.reportIn(problem.OCIConfig, doc, "/config", "expected the OCI empty config, %s of %d bytes; found %s of %d bytes",
			emptyDigest, len(emptyConfig), config.digest, config.size)
	}
	return config, nil
}

// head checks what an index and a manifest have in common, and tells whether they are one at all.
func (v *envelope) head(rule *problem.Rule, doc *strictjson.Document, what, mediaType string) (bool, error) {
	if doc.Root.Kind != strictjson.Object {
		return false, v.reportIn(rule, doc, "", "expected %s, a JSON object; found a JSON %s", what, doc.Root.Kind)
	}
	if version, ok := member(doc.Root, "schemaVersion", strictjson.Number); !ok || version.Text != "2" {
		if err := v.reportIn(rule, doc, "/schemaVersion", `expected the member "schemaVersion" of %s to be 2`, what); err != nil {
			return true, err
		}
	}
	if media, ok := doc.Root.Member("mediaType"); ok && (media.Kind != strictjson.String || media.Text != mediaType) {
		if err := v.reportIn(rule, doc, "/mediaType", `expected the media type "%s"; found %s`, mediaType, textOf(doc.Root, "mediaType")); err != nil {
			return true, err
		}
	}
	return true, v.annotations(rule, doc, "", doc.Root)
}

// annotations checks that annotations, which are hints and allowed everywhere, are strings.
func (v *envelope) annotations(rule *problem.Rule, doc *strictjson.Document, pointer string, in *strictjson.Value) error {
	annotations, ok := in.Member("annotations")
	if !ok {
		return nil
	}
	pointer += "/annotations"
	if annotations.Kind != strictjson.Object {
		return v.reportIn(rule, doc, pointer, "expected annotations to be a JSON object; found a JSON %s", annotations.Kind)
	}
	for _, m := range annotations.Members {
		if m.Value.Kind != strictjson.String {
			return v.reportIn(rule, doc, pointer+strictjson.Pointer(m.Name), "expected an annotation to be a string; found a JSON %s", m.Value.Kind)
		}
	}
	return nil
}

// descriptor reads a descriptor, which must have a media type. It is nil if nothing can be looked up
// by it. The rule is the one for what it describes.
func (v *envelope) descriptor(doc *strictjson.Document, pointer string, value *strictjson.Value, mediaType string, rule *problem.Rule) (*descriptor, error) {
	if value.Kind != strictjson.Object {
		return nil, v.reportIn(problem.OCIDescriptor, doc, pointer, "expected a descriptor, a JSON object; found a JSON %s", value.Kind)
	}
	d := &descriptor{doc: doc, pointer: pointer}
	usable := true
	var stop error
	wrong := func(rule *problem.Rule, name, format string, args ...any) {
		usable = false
		if err := v.reportIn(rule, doc, pointer+strictjson.Pointer(name), format, args...); err != nil {
			stop = err
		}
	}

	if media, ok := member(value, "mediaType", strictjson.String); !ok {
		wrong(problem.OCIDescriptor, "mediaType", `expected the descriptor to have a "mediaType"`)
	} else if media.Text != mediaType {
		wrong(rule, "mediaType", `expected the media type "%s"; found %s`, mediaType, problem.Quoted(media.Text))
	}
	if artifact, ok := value.Member("artifactType"); ok && rule == problem.OCIIndex && (artifact.Kind != strictjson.String || artifact.Text != ArtifactType) {
		wrong(rule, "artifactType", `expected the artifact type "%s", or none; found %s`, ArtifactType, textOf(value, "artifactType"))
	}
	if text, ok := member(value, "digest", strictjson.String); !ok || !isSHA256(text.Text) {
		wrong(problem.OCIDescriptor, "digest", `expected "digest" to be sha256: and 64 lower-case hexadecimal digits`)
	} else {
		d.digest = digest.Digest(text.Text)
	}
	size, ok := member(value, "size", strictjson.Number)
	if ok {
		var err error
		d.size, err = strconv.ParseInt(size.Text, 10, 64)
		ok = err == nil && d.size >= 0
	}
	if !ok {
		wrong(problem.OCIDescriptor, "size", `expected "size" to be a number of bytes`)
	}
	if _, ok := value.Member("urls"); ok {
		wrong(problem.OCIDescriptor, "urls", `expected no "urls": every blob lies in the layout`)
	}
	if _, ok := value.Member("data"); ok && usable {
		if data, ok := member(value, "data", strictjson.String); !ok || !d.isData(data.Text) {
			wrong(problem.OCIDescriptor, "data", `expected "data" to be the blob's bytes in standard base64, or absent`)
		}
	}
	if err := v.annotations(problem.OCIDescriptor, doc, pointer, value); err != nil || stop != nil {
		return nil, errStop
	}
	if !usable {
		return nil, nil
	}
	return d, nil
}

// isData tells whether a descriptor's embedded data are the bytes that it describes.
func (d *descriptor) isData(text string) bool {
	if strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return false
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	return err == nil && int64(len(data)) == d.size && encoded(sha256.Sum256(data)) == d.digest
}

// blob reads the blob that a descriptor references and verifies it. It is nil if it has a problem.
func (v *envelope) blob(d *descriptor, asLayer bool) (*blob, error) {
	if d.size > v.limits.OCIBytes-v.bytes {
		return nil, v.reportIn(problem.OCILimit, d.doc, d.pointer+"/size", "the blob has %d bytes and those before it have %d; the limit on all blobs together is %d",
			d.size, v.bytes, v.limits.OCIBytes)
	}
	v.bytes += d.size
	name := blobName(d.digest)
	var (
		b   *blob
		err error
	)
	if asLayer {
		b, err = v.files.layer(v.ctx, name, d.size)
	} else {
		b, err = v.files.text(v.ctx, name)
	}
	if err != nil {
		return nil, err
	}
	report := func(member, format string, args ...any) (*blob, error) {
		return nil, v.reportIn(problem.OCIBlob, d.doc, d.pointer+member, format, args...)
	}
	switch {
	case b.wrong != "":
		return report("/digest", "the blob %s %s; expected a regular file of the layout", name, b.wrong)
	case b.size != d.size:
		return report("/size", "the blob %s has %d bytes; the descriptor says %d", name, b.size, d.size)
	case b.skipped:
		return nil, v.tooMuch(name)
	case !asLayer && b.text == nil:
		return nil, v.reportIn(problem.OCILimit, d.doc, d.pointer+"/size", "the blob %s has %d bytes; the limit on a document is %d", name, b.size, v.limits.JSON.DocumentBytes)
	case b.digest != d.digest:
		return report("/digest", "the bytes of the blob have the digest %s; the descriptor says %s", b.digest, d.digest)
	case asLayer && b.layer == nil:
		return nil, v.report(problem.ArchiveGzip, "", noGzip, errNotGzip)
	}
	return b, nil
}

func blobName(d digest.Digest) string { return blobsDir + d.Encoded() }

func isSHA256(text string) bool {
	d := digest.Digest(text)
	return d.Validate() == nil && d.Algorithm() == digest.SHA256
}

// member returns a member if it has the kind.
func member(object *strictjson.Value, name string, kind strictjson.Kind) (*strictjson.Value, bool) {
	value, ok := object.Member(name)
	return value, ok && value.Kind == kind
}

// textOf describes a member's value for a message.
func textOf(object *strictjson.Value, name string) string {
	switch value, ok := object.Member(name); {
	case !ok:
		return "none"
	case value.Kind == strictjson.String:
		return problem.Quoted(value.Text)
	default:
		return "a JSON " + value.Kind.String()
	}
}
