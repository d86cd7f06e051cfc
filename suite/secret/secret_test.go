package secret_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/suite/secret"
)

// random stands for what a service draws by chance. The literals are put together here, so that no
// scanner of this repository takes them for real ones.
func random(n int) string {
	return strings.Repeat("q7Zk2Lw9Xb4Rt6Vn", n/16+1)[:n]
}

func hex(n int) string { return strings.Repeat("0a9f3c7e", n/8+1)[:n] }

func TestFind(t *testing.T) {
	for _, tc := range []struct{ name, literal, kind string }{
		{"PKCS 8", "-----BEGIN " + "PRIVATE KEY-----", "a private key"},
		{"RSA", "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE", "a private key"},
		{"OpenSSH", "-----BEGIN OPENSSH " + "PRIVATE KEY-----", "a private key"},
		{"PGP", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----", "a private key"},
		{"age", "AGE-SECRET-KEY-1" + strings.ToUpper(random(58)), "an age secret key"},
		{"AWS", "AKIA" + strings.ToUpper(random(16)), "an AWS access key"},
		{"AWS session", "ASIA" + strings.ToUpper(random(16)), "an AWS access key"},
		{"GitHub classic", "ghp_" + random(36), "a GitHub token"},
		{"GitHub server", "ghs_" + random(36), "a GitHub token"},
		{"GitHub fine-grained", "github_pat_" + random(22) + "_" + random(59), "a GitHub token"},
		{"GitLab", "glpat-" + random(20), "a GitLab token"},
		{"GitLab, all of its alphabet", "glpat-" + "x7Q_-.x7Q_-.x7Q_-.x7", "a GitLab token"},
		{"Slack", "xoxb-" + "123456789012-123456789012-" + random(24), "a Slack token"},
		{"Slack app", "xapp-" + "1-A0123456789-" + random(24), "a Slack token"},
		{"Slack webhook", "https://hooks.slack.com/services/" + "T0123ABCD/B0123ABCD/" + random(24), "a Slack webhook"},
		{"Anthropic", "sk-ant-" + "api03-" + random(86), "an Anthropic key"},
		{"OpenAI project", "sk-proj-" + random(48), "an OpenAI key"},
		{"OpenAI", "sk-" + random(48), "an OpenAI key"},
		{"OpenRouter", "sk-or-v1-" + hex(64), "an OpenRouter key"},
		{"Google", "AIza" + random(35), "a Google API key"},
		{"Google OAuth", "GOCSPX-" + random(28), "a Google OAuth secret"},
		{"Google access", "ya29." + random(60), "a Google access token"},
		{"npm", "npm_" + random(36), "an npm token"},
		{"PyPI", "pypi-" + "AgEIcHlwaS5vcmc" + random(80), "a PyPI token"},
		{"Docker", "dckr_pat_" + random(27), "a Docker token"},
		{"Stripe", "sk_live_" + random(24), "a Stripe key"},
		{"SendGrid", "SG." + random(22) + "." + random(43), "a SendGrid key"},
		{"Hugging Face", "hf_" + random(34), "a Hugging Face token"},
		{"DigitalOcean", "dop_v1_" + hex(64), "a DigitalOcean token"},
		{"Azure", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + random(86) + "==", "an Azure storage key"},
		{"JWT", "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + random(43), "a JSON web token"},
		{"bearer", "Bearer " + random(24), "a bearer token"},
		{"bearer, other case", "authorization: bearer " + random(16), "a bearer token"},
		{"bearer, letters only", "Bearer abcdefghijklmnopqrstuvwxyz", "a bearer token"},
		{"basic", "Authorization: Basic " + "YWxhZGRpbjpvcGVuc2VzYW1l", "basic credentials"},
		{"URL", "postgres://app:" + "s3cret@db.example:5432/app", "a URL with a password"},
		{"URL without user", "redis://:" + "s3cret@cache.example", "a URL with a password"},
		{"URL with @ in the password", "https://me:" + "p@ss@host.example/", "a URL with a password"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, text := range []string{tc.literal, "use " + tc.literal + " here", "--token=" + tc.literal, "(" + tc.literal + ")", "é" + tc.literal} {
				found, ok := secret.Find(text)
				require.True(t, ok, text)
				require.Equal(t, tc.kind, found.Kind)
				require.Less(t, found.Offset, found.End)
				require.LessOrEqual(t, found.End, len(text))
			}
		})
	}
}

func TestFindPasses(t *testing.T) {
	for _, text := range []string{
		"", "token", "API_TOKEN", "Authorization", "GITHUB_TOKEN", "AKIA", "sk-", "ghp_", "bearer", "Bearer ",
		"Send the token as Bearer token in the header.",
		"The bearer authentication-scheme-registration of RFC 6750 is used.",
		"Bearer Authentication.", "Basic authentication is refused.", "Basic QUJD",
		"sk-learn-is-a-provider-with-a-rather-long-name-but-no-key-at-all",
		"ask-" + random(48), "my_ghp_" + random(36),
		"AKIA" + strings.ToUpper(random(17)),
		"AIza" + random(36),
		"-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "a PRIVATE KEY is never content",
		"-----BEGIN " + strings.Repeat("A", 100) + "PRIVATE KEY-----",
		"https://example.com/path?user=a:b@c", "https://user@example.com/", "https://example.com:8443/@scope/pkg",
		"https://user:${PASSWORD}@example.com", "https://user:<password>@example.com", "https://user:****@example.com", "https://user:%s@example.com",
		"://a:b@c", "https://a:b@",
		"sha256:" + hex(64), "registry.example/repo@sha256:" + hex(64),
		"eyJhbGciOi.and.more", "pypi-package-name",
		"xoxb-is-a-prefix-of-slack", "https://hooks.slack.com/services/TEAM",
		"hf_transfer", "npm_config_registry", "SG.name.other",
		"-----BEGIN ", "Bearer \xff\xfe", "://", "\x00",
	} {
		found, ok := secret.Find(text)
		require.False(t, ok, "%q is taken for %s", text, found.Kind)
	}
}

func TestFindFrom(t *testing.T) {
	literal := "ghp_" + random(36)
	text := literal + " and " + literal
	first, ok := secret.Find(text)
	require.True(t, ok)
	require.Equal(t, literal, text[first.Offset:first.End])
	second, ok := secret.FindFrom(text, first.End)
	require.True(t, ok)
	require.Equal(t, len(literal)+5, second.Offset)
	_, ok = secret.FindFrom(text, second.End)
	require.False(t, ok)
	_, ok = secret.FindFrom("x"+literal, 1)
	require.False(t, ok, "the word began before the offset")
}

func TestRedact(t *testing.T) {
	token := "ghp_" + random(36)
	for text, want := range map[string]string{
		"":                          "",
		"nothing to hide":           "nothing to hide",
		token:                       "(a GitHub token, not shown)",
		"a " + token + ", " + token: "a (a GitHub token, not shown), (a GitHub token, not shown)",
		"ftp://u:pw1234@host/x":     "ftp(a URL with a password, not shown)@host/x",
		"sk-ant-api03-" + random(1): "sk-ant-api03-" + random(1),
		"key -----BEGIN EC " + "PRIVATE KEY-----\nMHcCAQEE\n-----END EC " + "PRIVATE KEY-----\n": "key (a private key, not shown)",
		"bearer " + random(5000) + " after": "(a bearer token, not shown) after",
		"bearer " + random(5000):            "(a bearer token, not shown)",
	} {
		require.Equal(t, want, secret.Redact(text))
	}
}

// A text full of beginnings must not cost the square of its length: 16 times as much text may take some
// 16 times as long, and would take 256 times as long.
func TestFindIsLinear(t *testing.T) {
	quickest := func(text string) time.Duration {
		best := time.Duration(math.MaxInt64)
		for range 3 {
			start := time.Now()
			secret.Find(text)
			best = min(best, time.Since(start))
		}
		return best
	}
	for _, piece := range []string{"-----BEGIN ", "eyJa.eyJ", "https://a:", "://a", "Bearer ", "Basic QUJD ", "sk-ant-", "(sk-"} {
		const n = 1 << 15
		short, long := strings.Repeat(piece, n/len(piece)), strings.Repeat(piece, 16*n/len(piece))
		require.Less(t, quickest(long), 100*max(quickest(short), 50*time.Microsecond), piece)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("Bearer "+random(20), 0)
	f.Add("https://a:"+"b@c", 3)
	f.Add("-----BEGIN "+"PRIVATE KEY-----", 1)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		if offset < 0 || offset > len(text) {
			return
		}
		if found, ok := secret.FindFrom(text, offset); ok {
			require.True(t, offset <= found.Offset && found.Offset < found.End && found.End <= len(text))
		}
	})
}
