package schema

// CompileEmbedded gives tests the schemas as the library sees them.
var CompileEmbedded = compileEmbedded
