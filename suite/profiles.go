package suite

import (
	"slices"

	"github.com/distribution/reference"

	"github.com/agentsuite/agentsuite-llb/suite/problem"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// checkProfile checks a build profile: one image for a platform, and each pinned by one digest
// (section 11).
func (v *validation) checkProfile(n *node[BuildProfile], f *findings) {
	checkImages(&n.document, "runtimeBase", n.doc.RuntimeBase, f)
	checkImages(&n.document, "harness", n.doc.Harness, f)
}

func checkImages(d *document, list string, images []BaseImage, f *findings) {
	repetitions(images, func(b BaseImage) Platform {
		if !b.Platform.known() {
			return Platform{}
		}
		return b.Platform
	}, func(first, again int) {
		d.report(f, problem.ProfilePlatform, strictjson.Pointer(list, again, "platform"),
			"%s has two images for %s; the first is %s[%d]", list, images[again].Platform, list, first)
	})
	for i, b := range images {
		named, err := reference.Parse(b.ImageRef)
		if err != nil {
			continue
		}
		pinned, ok := named.(reference.Digested)
		if ok && b.Image.Digest != "" && pinned.Digest() != b.Image.Digest {
			in, beside := shortDigests(pinned.Digest(), b.Image.Digest)
			d.report(f, problem.ProfileDigest, strictjson.Pointer(list, i, "image", "digest"),
				"imageRef names the manifest %s, the descriptor says %s; both must be the same", in, beside)
		}
	}
}

// hasImage tells whether a list of images has one for a platform, or might have one that could not be
// read.
func hasImage(d *document, list string, images []BaseImage, platform Platform) bool {
	return imageFor(images, platform) != nil || !d.sound("/"+list)
}

// checkProfileFor finds the build profile that a composition selects, and holds it against the
// platform. A tool provider's image needs no harness.
func (v *validation) checkProfileFor(d *document, rule *problem.Rule, id string, platform Platform, harness bool) {
	if id == "" {
		return
	}
	profile, known := v.profileByID[id]
	if !known {
		if v.manifest.sound("/buildProfiles") {
			d.report(&v.found, problem.GraphUnknown, "/buildProfile", "the suite has no build profile %s%s", id, v.instead(id, v.profileIDs))
		}
		return
	}
	if profile.broken || !platform.known() {
		return
	}
	p := &profile.doc
	if !hasImage(&profile.document, "runtimeBase", p.RuntimeBase, platform) {
		d.report(&v.found, rule, "/buildProfile", "build profile %s has no runtime base for %s; it has %s", id, platform, joinPlatforms(imagePlatforms(p.RuntimeBase)))
	}
	if harness && !hasImage(&profile.document, "harness", p.Harness, platform) {
		d.report(&v.found, rule, "/buildProfile", "build profile %s has no harness for %s; it has %s", id, platform, joinPlatforms(imagePlatforms(p.Harness)))
	}
}

func imagePlatforms(images []BaseImage) []Platform {
	return eachOnce(images, func(b *BaseImage) Platform { return b.Platform })
}

// eachOnce lists the platforms of a list in order, each once. An invalid list may be of any length.
func eachOnce[T any](list []T, platform func(*T) Platform) []Platform {
	var platforms []Platform
	for i := range list {
		if p := platform(&list[i]); !slices.Contains(platforms, p) {
			platforms = append(platforms, p)
		}
	}
	return platforms
}
