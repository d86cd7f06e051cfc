package frontend

import (
	"strings"

	"github.com/moby/buildkit/util/grpcerrors"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
)

// spoken is an error that keeps its own words on the way to the client. Of one that wraps an error of the
// daemon, BuildKit would pass on the daemon's words alone, and say nothing of what they are about.
type spoken struct{ error }

func speak(err error) error {
	if err == nil {
		return nil
	}
	return spoken{err}
}

func (e spoken) Unwrap() error { return e.error }

// Error leaves out the name of the status, which the wrapped error has in its words and the client puts in
// front of ours.
func (e spoken) Error() string {
	return strings.Replace(e.error.Error(), grpcerrors.Code(e.error).String()+": ", "", 1)
}

// GRPCStatus is the status of the wrapped error with the words of the whole.
func (e spoken) GRPCStatus() *status.Status {
	pb := new(spb.Status)
	if st, ok := grpcerrors.AsGRPCStatus(e.error); ok && st != nil {
		pb = st.Proto()
	}
	pb.Code, pb.Message = int32(grpcerrors.Code(e.error)), e.Error()
	return status.FromProto(pb)
}
