package frontend

import (
	"context"
	"fmt"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/identity"
	spb "github.com/moby/buildkit/sourcepolicy/pb"

	agentllb "github.com/agentsuite/agentsuite-llb/llb"
)

// solver is the only door through which this frontend solves anything, so that no solve goes without a
// source policy.
type solver struct {
	client client.Client
	cache  []client.CacheOptionsEntry
	// local is the identity of the local sources of this build. With one for all of its solves they are
	// the same operations in each, and are transferred once.
	local string
}

func newSolver(bc *dockerui.Client) solver {
	return solver{client: bc.GatewayClient(), cache: bc.CacheImports, local: identity.NewID()}
}

// define encodes a state as this build's solves do.
func (s solver) define(ctx context.Context, state llb.State) (*llb.Definition, error) {
	def, err := state.Marshal(ctx, llb.WithCaps(s.client.BuildOpts().LLBCaps), llb.LocalUniqueID(s.local))
	if err != nil {
		return nil, fmt.Errorf("encoding a build step: %w", err)
	}
	return def, nil
}

// solve solves a state. The daemon refuses every source that is not among the allowed states'.
func (s solver) solve(ctx context.Context, state llb.State, allowed []llb.State) (client.Reference, error) {
	return s.request(ctx, state, allowed, client.SolveRequest{})
}

// evaluate is like solve, and runs the operations at once instead of when something reads the result, so
// that an error of theirs is known here.
func (s solver) evaluate(ctx context.Context, state llb.State, allowed []llb.State) (client.Reference, error) {
	return s.request(ctx, state, allowed, client.SolveRequest{Evaluate: true})
}

func (s solver) request(ctx context.Context, state llb.State, allowed []llb.State, request client.SolveRequest) (client.Reference, error) {
	policy, err := agentllb.Policy(ctx, allowed...)
	if err != nil {
		return nil, err
	}
	def, err := s.define(ctx, state)
	if err != nil {
		return nil, err
	}
	request.Definition = def.ToPB()
	request.CacheImports = s.cache
	request.SourcePolicies = []*spb.Policy{policy}
	result, err := s.client.Solve(ctx, request)
	if err != nil {
		return nil, err
	}
	return result.SingleRef()
}
