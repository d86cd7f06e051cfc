package image_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/schemas/schematest"
	"github.com/agentsuite/agentsuite-llb/suite/schema"
	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// The records that an image embeds are described by schemas too. Entries of a scan have no component,
// those of an inventory do.
func TestRecordsAgreeWithSchemas(t *testing.T) {
	schematest.Agree(t, "sandbox-binding", image.Binding{})
	schematest.Agree(t, "sandbox-inventory", image.Inventory{}, "Entry.Component")
}

// What is composed has the form that the schemas give it.
func TestRecordsConformToSchemas(t *testing.T) {
	w := world{t: t, bundles: []bundle{tool("a")}}
	recipe, err := image.NewRecipe(w.inputs())
	require.NoError(t, err)
	composed, inventory, err := image.Compose(t.Context(), recipe, w.scans())
	require.NoError(t, err)
	conforms := func(text []byte, mediaType string) {
		doc, problems := strictjson.Parse("record.json", text, strictjson.DefaultLimits())
		require.Empty(t, problems)
		require.Empty(t, schema.Check(doc, mediaType))
	}
	conforms(inventory, image.MediaTypeInventory)

	plan, err := image.NewPlan(w.inputs(), composed)
	require.NoError(t, err)
	for _, f := range plan.Layers[len(plan.Layers)-1].Files {
		if f.Path == image.BindingPath {
			conforms([]byte(f.Text), image.MediaTypeBinding)
			return
		}
	}
	require.Fail(t, "the plan has no binding")
}
