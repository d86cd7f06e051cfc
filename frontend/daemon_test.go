package frontend

import (
	"slices"
	"testing"

	"github.com/moby/buildkit/solver/pb"
	caps "github.com/moby/buildkit/util/apicaps/pb"
	"github.com/stretchr/testify/require"
)

func TestOldDaemonsAreTold(t *testing.T) {
	all := pb.Caps.All()
	require.NoError(t, checkDaemon(pb.Caps.CapSet(all)))
	for _, id := range required {
		older := slices.DeleteFunc(slices.Clone(all), func(c *caps.APICap) bool { return c.ID == string(id) })
		require.Len(t, older, len(all)-1)
		err := checkDaemon(pb.Caps.CapSet(older))
		require.ErrorContains(t, err, "needs "+MinBuildKit+" or newer")
		require.ErrorContains(t, err, string(id))
	}
	require.Error(t, checkDaemon(pb.Caps.CapSet(nil)), "a daemon that tells nothing")
}
