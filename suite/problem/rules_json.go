package problem

// Rules of one JSON document, read by itself.
var (
	JSONSyntax        = rule("json-syntax", JSON, "AS-JSON-001", "5.3", "A document is exactly one JSON value by RFC 8259, followed by nothing but white space.")
	JSONEncoding      = rule("json-encoding", JSON, "AS-JSON-001", "5.3", "A document is UTF-8 without a byte order mark, and its strings hold no lone surrogate.")
	JSONDuplicate     = rule("json-duplicate-name", JSON, "AS-JSON-001", "5.3", "The member names of an object, compared after unescaping, are unique.")
	JSONNumber        = rule("json-number", JSON, "AS-JSON-001", "decision, documents", "A number survives an IEEE 754 double unchanged; an integer is written as an integer.")
	JSONLimit         = rule("json-limit", JSON, "AS-JSON-001", "5.2", "A document stays within the size, nesting and membership limits.")
	JSONUnknownMember = rule("json-unknown-member", JSON, "AS-JSON-001", "5.3", "An object has only members that its schema names.")
	JSONMissingMember = rule("json-missing-member", JSON, "AS-JSON-001", "5.3", "An object has every member that its schema requires.")
	JSONType          = rule("json-type", JSON, "AS-JSON-001", "5.3", "A member has the JSON type that its schema states; null is never one.")
	JSONValue         = rule("json-value", JSON, "AS-JSON-001", "5.3", "A member's value is one that its schema permits.")
	DraftDeferred     = rule("draft-deferred", JSON, "AS-DRAFT-001", "Appendix A", "Members and values of other drafts are not used.")
	DraftExtension    = rule("draft-critical-extension", JSON, "AS-DRAFT-001", "7", "No extension is critical: this implementation knows none.")
)
