package seal

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentsuite/agentsuite-llb/suite"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// profiles pins the images that the author asked to pin, and says which of the others have no digest.
// A pin for which no profile has an image is a mistake in the request, not in the suite.
func (s *sealer) profiles(ctx context.Context, profiles []*draft, pins []Pin) error {
	used := make([]bool, len(pins))
	var repositories []string
	for _, d := range profiles {
		for _, list := range []string{"runtimeBase", "harness"} {
			for i, entry := range items(d.doc.Root, list) {
				ref := text(entry, "imageRef")
				if ref == "" {
					continue
				}
				repository := repositoryOf(ref)
				repositories = append(repositories, repository)
				pin := slices.IndexFunc(pins, func(p Pin) bool { return p.Repository == repository })
				if pin < 0 {
					if !strings.Contains(ref, "@") {
						s.unpinned(d, entry, strictjson.Pointer(list, i), repository)
					}
					continue
				}
				used[pin] = true
				image, err := pins[pin].Manifest(ctx, platformOf(entry))
				if err != nil {
					return fmt.Errorf("pinning %s of build profile %s for %s: %w", repository, text(d.doc.Root, "id"), platformOf(entry), err)
				}
				d.pin(entry, repository, image)
			}
		}
	}
	if unused := slices.Index(used, false); unused >= 0 {
		slices.Sort(repositories)
		return &UnusedPinError{Repository: pins[unused].Repository, Existing: slices.Compact(repositories)}
	}
	return nil
}

// UnusedPinError says that no build profile has an image of the repository that a [Pin] names.
type UnusedPinError struct {
	Repository string
	// Existing are the repositories that the profiles have images of, sorted.
	Existing []string
}

func (e *UnusedPinError) Error() string {
	return fmt.Sprintf("no build profile has an imageRef of the repository %s; there are: %s", problem.Quoted(e.Repository), strings.Join(e.Existing, ", "))
}

// repositoryOf cuts tag and digest off an image reference.
func repositoryOf(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(ref, ':'); i > strings.LastIndexByte(ref, '/') {
		ref = ref[:i]
	}
	return ref
}

func (s *sealer) unpinned(d *draft, entry *value, pointer, repository string) {
	s.claim(d, pointer)
	s.own(problem.ImagePin, d, pointer+"/imageRef", "%s is not pinned: seal with --pin %s=oci-layout://DIR, or write the digest and the image descriptor yourself",
		problem.Quoted(text(entry, "imageRef")), repository)
}

// pin makes an entry of a build profile name an image by digest, in both of the ways it has.
func (d *draft) pin(entry *value, repository string, image suite.Descriptor) {
	descriptor := []field{
		{"mediaType", quote(image.MediaType)}, {"digest", quote(string(image.Digest))}, {"size", strconv.FormatInt(image.Size, 10)},
	}
	d.putString(entry, "imageRef", repository+"@"+string(image.Digest), "platform")
	if existing := member(entry, "image"); existing != nil && existing.Kind == strictjson.Object && len(existing.Members) > 0 {
		d.update(existing, descriptor)
		return
	}
	d.put(entry, "image", d.objectText(d.memberIndent(entry), descriptor), "imageRef")
}
