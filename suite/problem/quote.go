package problem

// quotedRunes bounds what a message repeats of a suite's text: enough to recognise a name, too little
// to flood a terminal.
const quotedRunes = 80

// Quoted renders text from a suite or an image inside a message: in double quotes, cut after 80
// characters, with control characters made visible. It must not be used for secrets and evaluation
// operands, which no message repeats.
func Quoted(s string) string {
	return `"` + Printable(Cut(s)) + `"`
}

// Cut shortens text to 80 characters; what it leaves out is shown by an ellipsis.
func Cut(s string) string {
	n := 0
	for i := range s {
		if n == quotedRunes {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
