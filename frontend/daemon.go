package frontend

import (
	"fmt"

	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/buildkit/util/apicaps"
)

// MinBuildKit is the oldest release of BuildKit that this frontend builds with, to the same images as the
// newest.
const MinBuildKit = "v0.13"

// required is what every build needs of a daemon and daemons before [MinBuildKit] do not all have.
var required = []apicaps.CapID{
	pb.CapSourcePolicy,          // a source that nothing may use is refused
	pb.CapExecMountContentCache, // a pinned image is not hashed once more to cache what was read of it
}

// checkDaemon tells at the start, in one sentence, what otherwise one operation would fail of.
func checkDaemon(llbCaps apicaps.CapSet) error {
	for _, id := range required {
		if llbCaps.Supports(id) != nil {
			return fmt.Errorf("the builder's BuildKit is too old: this frontend needs %s or newer (Docker Engine 26), and this one does not know %s; "+
				"update it, or make a builder of a newer one, as with \"docker buildx create --driver docker-container --use\"", MinBuildKit, id)
		}
	}
	return nil
}
