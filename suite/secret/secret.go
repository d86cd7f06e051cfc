// Package secret finds literals that have the shape of a credential. A suite names secrets and never
// holds them (AS-SECRET-001), so such a literal is a mistake whatever it opens.
//
// Only shapes count that nothing else has: a fixed prefix with a fixed alphabet and length, a token
// after "Bearer", a password inside a URL. Names like API_TOKEN and sentences about tokens pass.
package secret

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Finding is one credential-shaped literal of a text.
type Finding struct {
	// Kind says what the literal looks like, with its article ("a GitHub token"). It is safe to print.
	Kind string
	// Offset and End delimit the literal in the text, a very long one perhaps not to its end. What
	// lies between them must never be printed.
	Offset, End int
}

// Find returns the first credential-shaped literal of a text. Its cost is linear in the text.
func Find(text string) (Finding, bool) {
	return FindFrom(text, 0)
}

// FindFrom is [Find] for the part of the text that begins at an offset; what stands before the offset
// still decides whether a word begins there.
func FindFrom(text string, offset int) (Finding, bool) {
	for i := offset; i < len(text); i++ {
		c := text[i]
		if c == ':' && strings.HasPrefix(text[i:], "://") {
			if end, ok := urlPassword(text, i); ok {
				return Finding{Kind: "a URL with a password", Offset: i, End: end}, true
			}
			continue
		}
		shapes := shapesByFirst[c]
		if shapes == nil || i > 0 && isWord(text[i-1]) {
			continue
		}
		for _, s := range shapes {
			if end, ok := s.match(text[i:]); ok {
				return Finding{Kind: s.kind, Offset: i, End: i + end}, true
			}
		}
	}
	return Finding{}, false
}

// Redact replaces every credential-shaped literal of a text by what it looks like, so that the text may be
// shown. A text without any is returned as it is.
func Redact(text string) string {
	found, ok := Find(text)
	if !ok {
		return text
	}
	var b strings.Builder
	done := 0
	for ; ok; found, ok = FindFrom(text, done) {
		b.WriteString(text[done:found.Offset])
		b.WriteString("(" + found.Kind + ", not shown)")
		done = found.End
		switch {
		case found.Kind == kindPrivateKey:
			done = len(text) // the shape is that of its head, the key is what follows
		case found.End-found.Offset >= longestRun:
			if done = len(text); strings.ContainsAny(text[found.End:], literalEnds) {
				done = found.End + strings.IndexAny(text[found.End:], literalEnds)
			}
		}
	}
	b.WriteString(text[done:])
	return b.String()
}

// literalEnds are bytes that no literal goes on with. They tell where one ends that is too long to be followed.
const literalEnds = " \t\r\n\"'`,;"

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

const kindPrivateKey = "a private key"

// shape is a credential that begins with a fixed prefix at the beginning of a word.
type shape struct {
	kind string
	// prefixes are alternatives. Where fold is set, they are lower-case and match any case.
	prefixes []string
	fold     bool
	// body is the alphabet of what follows the prefix, from least to most bytes of it. A body that
	// could go on is no match: a longer word is something else.
	body        *alphabet
	least, most int
	// also, where set, decides on what follows the prefix and returns where the literal ends in it.
	// It replaces body.
	also func(rest string) (end int, ok bool)
}

func (s *shape) match(text string) (end int, ok bool) {
	for _, prefix := range s.prefixes {
		if !hasPrefix(text, prefix, s.fold) {
			continue
		}
		rest := text[len(prefix):]
		if s.also != nil {
			if n, ok := s.also(rest); ok {
				return len(prefix) + n, true
			}
			continue
		}
		if n := s.body.run(rest); n >= s.least && (s.most == 0 || n <= s.most) {
			return len(prefix) + n, true
		}
	}
	return 0, false
}

func hasPrefix(text, prefix string, fold bool) bool {
	if len(text) < len(prefix) {
		return false
	}
	if fold {
		return strings.EqualFold(text[:len(prefix)], prefix)
	}
	return text[:len(prefix)] == prefix
}

type alphabet [256]bool

func newAlphabet(ranges ...string) *alphabet {
	var a alphabet
	for _, r := range ranges {
		if len(r) == 3 && r[1] == '-' {
			for c := int(r[0]); c <= int(r[2]); c++ {
				a[c] = true
			}
			continue
		}
		for i := range len(r) {
			a[r[i]] = true
		}
	}
	return &a
}

// longestRun bounds how far a literal is followed. Without it a text that is one beginning after the
// other would cost its length squared.
const longestRun = 1024

// run counts the bytes of the alphabet that a text begins with, up to longestRun.
func (a *alphabet) run(text string) int {
	n := 0
	for n < min(len(text), longestRun) && a[text[n]] {
		n++
	}
	return n
}

var (
	alphanumeric = newAlphabet("a-z", "A-Z", "0-9")
	upperNumeric = newAlphabet("A-Z", "0-9")
	hexadecimal  = newAlphabet("a-f", "A-F", "0-9")
	wordBytes    = newAlphabet("a-z", "A-Z", "0-9", "_")
	base64URL    = newAlphabet("a-z", "A-Z", "0-9", "_-")
	base64Bytes  = newAlphabet("a-z", "A-Z", "0-9", "+/=")
	dotted       = newAlphabet("a-z", "A-Z", "0-9", "._-")
	// token68 is the alphabet of credentials in an Authorization header (RFC 9110, 11.2).
	token68 = newAlphabet("a-z", "A-Z", "0-9", "-._~+/=")
)

var shapes = []shape{
	{kind: kindPrivateKey, prefixes: []string{"-----BEGIN "}, also: privateKey},
	{kind: "an age secret key", prefixes: []string{"AGE-SECRET-KEY-1"}, body: upperNumeric, least: 50},
	{kind: "an AWS access key", prefixes: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, body: upperNumeric, least: 16, most: 16},
	{kind: "a GitHub token", prefixes: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, body: alphanumeric, least: 36},
	{kind: "a GitHub token", prefixes: []string{"github_pat_"}, body: wordBytes, least: 22},
	{kind: "a GitLab token", prefixes: []string{"glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "glagent-"}, body: dotted, least: 20},
	{kind: "a Slack token", prefixes: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxc-", "xoxd-", "xoxe.xoxp-", "xoxe.xoxb-", "xapp-"}, also: digitsThen(base64URL, 12)},
	{kind: "a Slack webhook", prefixes: []string{"hooks.slack.com/services/T"}, body: newAlphabet("a-z", "A-Z", "0-9", "/"), least: 30},
	{kind: "an Anthropic key", prefixes: []string{"sk-ant-"}, also: withDigit(base64URL, 20)},
	{kind: "an OpenAI key", prefixes: []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"}, also: withDigit(base64URL, 20)},
	{kind: "an OpenRouter key", prefixes: []string{"sk-or-v1-"}, body: hexadecimal, least: 32},
	{kind: "an OpenAI key", prefixes: []string{"sk-"}, also: withDigit(alphanumeric, 32)},
	{kind: "a Google API key", prefixes: []string{"AIza"}, body: base64URL, least: 35, most: 35},
	{kind: "a Google OAuth secret", prefixes: []string{"GOCSPX-"}, body: base64URL, least: 28},
	{kind: "a Google access token", prefixes: []string{"ya29."}, also: withDigit(dotted, 20)},
	{kind: "an npm token", prefixes: []string{"npm_"}, body: alphanumeric, least: 36},
	{kind: "a PyPI token", prefixes: []string{"pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"}, body: base64URL, least: 40},
	{kind: "a RubyGems key", prefixes: []string{"rubygems_"}, body: hexadecimal, least: 48, most: 48},
	{kind: "a Docker token", prefixes: []string{"dckr_pat_", "dckr_oat_"}, body: base64URL, least: 27},
	{kind: "a Stripe key", prefixes: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, body: alphanumeric, least: 24},
	{kind: "a webhook secret", prefixes: []string{"whsec_"}, body: base64Bytes, least: 32},
	{kind: "a SendGrid key", prefixes: []string{"SG."}, also: sendGrid},
	{kind: "a Hugging Face token", prefixes: []string{"hf_"}, body: alphanumeric, least: 34},
	{kind: "a Groq key", prefixes: []string{"gsk_"}, body: alphanumeric, least: 48},
	{kind: "an xAI key", prefixes: []string{"xai-"}, body: alphanumeric, least: 60},
	{kind: "a Replicate token", prefixes: []string{"r8_"}, body: alphanumeric, least: 37, most: 37},
	{kind: "a DigitalOcean token", prefixes: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, body: hexadecimal, least: 64},
	{kind: "a Databricks token", prefixes: []string{"dapi"}, body: hexadecimal, least: 32},
	{kind: "a Vault token", prefixes: []string{"hvs.", "hvb.", "hvr."}, body: base64URL, least: 24},
	{kind: "a Linear key", prefixes: []string{"lin_api_"}, body: alphanumeric, least: 40},
	{kind: "a Shopify token", prefixes: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, body: hexadecimal, least: 32},
	{kind: "a Grafana token", prefixes: []string{"glsa_"}, body: wordBytes, least: 41},
	{kind: "an Azure storage key", prefixes: []string{"AccountKey="}, body: base64Bytes, least: 86},
	{kind: "a JSON web token", prefixes: []string{"eyJ"}, also: webToken},
	{kind: "a bearer token", prefixes: []string{"bearer "}, fold: true, also: bearer},
	{kind: "basic credentials", prefixes: []string{"basic "}, fold: true, also: basic},
}

// shapesByFirst finds the shapes whose prefix begins with a byte.
var shapesByFirst = func() (table [256][]*shape) {
	add := func(c byte, s *shape) {
		if n := len(table[c]); n == 0 || table[c][n-1] != s {
			table[c] = append(table[c], s)
		}
	}
	for i := range shapes {
		s := &shapes[i]
		for _, prefix := range s.prefixes {
			add(prefix[0], s)
			if s.fold {
				add(byte(unicode.ToUpper(rune(prefix[0]))), s)
			}
		}
	}
	return table
}()

// withDigit matches at least n bytes of an alphabet with a digit among them: keys are random, so they
// have one, and a long name with dashes usually has none.
func withDigit(a *alphabet, n int) func(string) (int, bool) {
	return func(rest string) (int, bool) {
		end := a.run(rest)
		return end, end >= n && strings.ContainsAny(rest[:end], "0123456789")
	}
}

// digitsThen matches at least n bytes of an alphabet that begin with a digit.
func digitsThen(a *alphabet, n int) func(string) (int, bool) {
	return func(rest string) (int, bool) {
		end := a.run(rest)
		return end, end >= n && rest[0] >= '0' && rest[0] <= '9'
	}
}

func privateKey(rest string) (int, bool) {
	const marker = "PRIVATE KEY"
	// The longest label in use has four words before the marker.
	head := rest[:min(len(rest), 64)]
	i := strings.Index(head, marker)
	if i < 0 || strings.Trim(head[:i], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") != "" {
		return 0, false
	}
	after := strings.TrimPrefix(head[i+len(marker):], " BLOCK")
	return len(head) - len(after), strings.HasPrefix(after, "-----")
}

func sendGrid(rest string) (int, bool) {
	first := base64URL.run(rest)
	if first < 16 || first > 32 || !strings.HasPrefix(rest[first:], ".") {
		return 0, false
	}
	second := base64URL.run(rest[first+1:])
	return first + 1 + second, second >= 32
}

// webToken matches header, payload and signature; header and payload are JSON objects in base64url,
// so both begin alike.
func webToken(rest string) (int, bool) {
	header := base64URL.run(rest)
	if header < 8 || !strings.HasPrefix(rest[header:], ".eyJ") {
		return 0, false
	}
	end := header + 1
	payload := base64URL.run(rest[end:])
	end += payload
	if payload < 8 || !strings.HasPrefix(rest[end:], ".") {
		return 0, false
	}
	return end + 1 + base64URL.run(rest[end+1:]), true
}

// leastBearer is the shortest token that is taken for one: prose after "Bearer" is shorter, or is
// words.
const leastBearer = 16

func bearer(rest string) (int, bool) {
	text := strings.TrimLeft(rest, " ")
	n := token68.run(text)
	token := text[:n]
	return len(rest) - len(text) + n, n >= leastBearer && !words(token)
}

// words tells whether a text could be hyphenated or abbreviated English: nothing but letters in one
// case, a leading capital aside, in pieces that are no longer than words are.
func words(text string) bool {
	const longestWord = 24
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("-./", r) }) {
		if len(piece) > longestWord {
			return false
		}
		for i, r := range piece {
			if r < 'a' || r > 'z' {
				if i > 0 || r < 'A' || r > 'Z' {
					return false
				}
			}
		}
	}
	return true
}

// basic matches what decodes to user:password.
func basic(rest string) (int, bool) {
	text := strings.TrimLeft(rest, " ")
	n := base64Bytes.run(text)
	if n < 8 {
		return 0, false
	}
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text[:n], "="))
	if err != nil || !utf8.Valid(decoded) {
		return 0, false
	}
	user, password, ok := strings.Cut(string(decoded), ":")
	printable := strings.IndexFunc(user+password, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
	return len(rest) - len(text) + n, ok && user != "" && password != "" && printable
}

// urlPassword looks for user:password@ after the "://" at an offset, and returns where the password
// ends. A password that is a placeholder is none.
func urlPassword(text string, offset int) (int, bool) {
	if offset == 0 || !isWord(text[offset-1]) {
		return 0, false
	}
	start := offset + len("://")
	end := len(text)
	if n := strings.IndexFunc(text[start:], endsAuthority); n >= 0 {
		end = start + n
	}
	at := strings.LastIndexByte(text[start:end], '@')
	if at < 0 || start+at+1 == end {
		return 0, false
	}
	_, password, ok := strings.Cut(text[start:start+at], ":")
	if !ok || password == "" || placeholder(password) {
		return 0, false
	}
	return start + at, true
}

func endsAuthority(r rune) bool {
	return r == '/' || r == '?' || r == '#' || r == '"' || r == '\'' || r == '`' || r == ',' || unicode.IsSpace(r)
}

// placeholder tells whether a password only shows where one would stand: ${NAME}, <password>, {pw},
// %s, or nothing but one masking character.
func placeholder(password string) bool {
	if strings.ContainsAny(password, "<>{}$") || password[0] == '%' && len(password) == 2 {
		return true
	}
	return strings.Trim(password, password[:1]) == "" && strings.ContainsAny(password[:1], "*.xX_-")
}
