package problem

// Rules of what must never be content.
var (
	SecretLiteral = rule("secret-literal", Security, "AS-SECRET-001", "decision, documents", "No string of a document has the shape of a credential.")
)
