package suite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/schemas"
	"github.com/agentsuite/agentsuite-llb/schemas/schematest"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// The schemas say what documents may hold and the Go types what is read of them: they must not drift
// apart.
func TestDocumentsAgreeWithSchemas(t *testing.T) {
	for mediaType, document := range map[string]any{
		suite.MediaTypeManifest:                suite.Manifest{},
		suite.MediaTypeAgent:                   suite.Agent{},
		suite.MediaTypeEvalIndex:               suite.EvalIndex{},
		suite.MediaTypeEvalCase:                suite.EvalCase{},
		suite.MediaTypeToolProviderCatalog:     suite.Catalog{},
		suite.MediaTypeToolProvider:            suite.ToolProvider{},
		suite.MediaTypeComposition:             suite.Composition{},
		suite.MediaTypeToolProviderComposition: suite.ToolProviderComposition{},
		suite.MediaTypeBuildProfile:            suite.BuildProfile{},
	} {
		name, ok := schemas.ForMediaType(mediaType)
		require.True(t, ok, mediaType)
		t.Run(name, func(t *testing.T) { schematest.Agree(t, name, document) })
	}
}
