package llb

import (
	"context"
	"fmt"
	"slices"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/solver/pb"
	spb "github.com/moby/buildkit/sourcepolicy/pb"
)

// Policy denies every source but those that the given states read from, so that a daemon refuses
// whatever else would slip into a solve.
func Policy(ctx context.Context, allowed ...llb.State) (*spb.Policy, error) {
	rules := []*spb.Rule{{
		Action:   spb.PolicyAction_DENY,
		Selector: &spb.Selector{Identifier: "*", MatchType: spb.MatchType_WILDCARD},
	}}
	identifiers, err := sourceIdentifiers(ctx, allowed)
	if err != nil {
		return nil, err
	}
	// The last rule that matches wins.
	for _, identifier := range identifiers {
		rules = append(rules, &spb.Rule{
			Action:   spb.PolicyAction_ALLOW,
			Selector: &spb.Selector{Identifier: identifier, MatchType: spb.MatchType_EXACT},
		})
	}
	return &spb.Policy{Version: 1, Rules: rules}, nil
}

// sourceIdentifiers lists the identifiers of all source operations behind the states, sorted.
func sourceIdentifiers(ctx context.Context, states []llb.State) ([]string, error) {
	var identifiers []string
	for _, state := range states {
		def, err := state.Marshal(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the sources that a build may use: %w", err)
		}
		for _, data := range def.Def {
			var op pb.Op
			if err := op.Unmarshal(data); err != nil {
				return nil, fmt.Errorf("listing the sources that a build may use: %w", err)
			}
			if source := op.GetSource(); source != nil {
				identifiers = append(identifiers, source.Identifier)
			}
		}
	}
	slices.Sort(identifiers)
	return slices.Compact(identifiers), nil
}
