package frontend

import (
	"context"
	"fmt"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/attestations"
	"github.com/moby/buildkit/frontend/attestations/sbom"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/frontend/gateway/client"
	gatewaypb "github.com/moby/buildkit/frontend/gateway/pb"
	"github.com/moby/buildkit/solver/result"

	"github.com/agentsuite/agentsuite-llb/image"
)

// attest adds the statements of every image to a result. They travel with the attestations that the
// build asks for: a build without any has a plain image, which every exporter takes.
func (im *images) attest(ctx context.Context, res *dockerui.ResultBuilder) error {
	requested, err := attestations.Parse(im.docker.BuildOpts().Opts)
	if err != nil {
		return err
	}
	if len(requested) == 0 {
		return nil
	}
	for _, b := range im.built {
		for _, statement := range b.plan.Attestations {
			attestation, err := im.statement(ctx, b, statement)
			if err != nil {
				return err
			}
			res.AddAttestation(b.id, attestation)
		}
	}
	if im.docker.SBOM == nil {
		return nil
	}
	return im.attestSBOM(ctx, res)
}

// statement has the predicate written in the graph, since its bytes cannot cross the gateway.
func (im *images) statement(ctx context.Context, b built, statement image.Attestation) (client.Attestation, error) {
	const file = "/predicate.json"
	var action *llb.FileAction
	if statement.Content != "" {
		action = llb.Copy(im.source.content.State, im.source.content.Path(statement.Content), file)
	} else {
		action = llb.Mkfile(file, 0o444, []byte(statement.Text))
	}
	state := llb.Scratch().File(action, llb.WithCustomNamef("[%s %s] attestation %s", b.plan.Target, b.plan.Platform, statement.PredicateType))
	ref, err := im.solver.solve(ctx, state, b.allowed)
	if err != nil {
		return client.Attestation{}, fmt.Errorf("attesting %s for %s: %w", b.plan.Target, b.plan.Platform, err)
	}
	return client.Attestation{
		Kind: gatewaypb.AttestationKind_InToto,
		Ref:  ref,
		Path: file,
		InToto: result.InTotoAttestation{
			PredicateType: statement.PredicateType,
			Subjects:      []result.InTotoSubject{{Kind: gatewaypb.InTotoSubjectKind_Self}},
		},
	}, nil
}

// attestSBOM runs the scanner that the build names over every image, as the Dockerfile frontend does.
func (im *images) attestSBOM(ctx context.Context, res *dockerui.ResultBuilder) error {
	platform := im.docker.BuildPlatforms[0]
	scan, err := sbom.CreateSBOMScanner(ctx, im.solver.client, im.docker.SBOM.Generator, platform, sourceresolver.Opt{
		ImageOpt: &sourceresolver.ResolveImageOpt{ResolveMode: im.docker.ImageResolveMode.String(), Platform: &platform},
	}, im.docker.SBOM.Parameters)
	if err != nil {
		return fmt.Errorf("preparing the SBOM scanner %s: %w", im.docker.SBOM.Generator, err)
	}
	for _, b := range im.built {
		scanned, err := scan(ctx, b.id, b.state, nil)
		if err != nil {
			return fmt.Errorf("scanning %s for %s: %w", b.plan.Target, b.plan.Platform, err)
		}
		// The scanner is what the person who builds chose; it reads the image and is not part of it.
		attestation, err := result.ConvertAttestation(&scanned, func(state *llb.State) (client.Reference, error) {
			return im.solver.solve(ctx, *state, append(b.allowed, *state))
		})
		if err != nil {
			return fmt.Errorf("scanning %s for %s: %w", b.plan.Target, b.plan.Platform, err)
		}
		res.AddAttestation(b.id, *attestation)
	}
	return nil
}
