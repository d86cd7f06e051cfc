package frontend

import (
	"errors"
	"fmt"
	"testing"

	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/buildkit/util/grpcerrors"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What leaves the frontend for the client keeps its words, its code and its excerpts.
func TestErrorsKeepTheirWords(t *testing.T) {
	fromDaemon := grpcerrors.FromGRPC(status.Error(codes.Unknown, "500 Internal Server Error"))
	wrapped := errdefs.WithSource(fmt.Errorf("composing clock: %w", fromDaemon), &errdefs.Source{Info: &pb.SourceInfo{Filename: "profile.json"}})
	received := grpcerrors.FromGRPC(grpcerrors.ToGRPC(t.Context(), speak(wrapped)))
	require.Equal(t, "composing clock: 500 Internal Server Error", received.Error())
	sources := errdefs.Sources(received)
	require.Len(t, sources, 1)
	require.Equal(t, "profile.json", sources[0].Info.Filename)

	for want, err := range map[string]error{
		"plain":                               errors.New("plain"),
		"Canceled: solving: context canceled": fmt.Errorf("solving: %w", grpcerrors.FromGRPC(status.Error(codes.Canceled, "context canceled"))),
	} {
		received := grpcerrors.FromGRPC(grpcerrors.ToGRPC(t.Context(), speak(err)))
		require.Equal(t, grpcerrors.Code(err), grpcerrors.Code(received))
		require.EqualError(t, received, want)
	}
	require.NoError(t, speak(nil))
}
