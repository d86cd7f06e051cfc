//go:build bench

// Package bench_test measures what a person waits for: builds of an agent image through the packaged frontend, beside
// builds of the same filesystem through BuildKit's own Dockerfile frontend, which runs as an image too. Both run by turns on
// one daemon, so that whatever else the machine does disturbs both, and only their ratios are compared with a target.
package bench_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/moby/buildkit/client"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/integration/daemon"
	"github.com/agentsuite/agentsuite-llb/integration/testenv"
)

// What is timed; every round of the benchmark adds one time to each.
const (
	coldOurs         = "cold, ours"
	coldTheirs       = "cold, Dockerfile"
	coldUnlinked     = "cold, Dockerfile without --link"
	coldSecond       = "second agent cold"
	warmSecond       = "second agent after the first"
	noopOurs         = "no-op, ours"
	noopTheirs       = "no-op, Dockerfile"
	changedOurs      = "changed, ours"
	changedTheirs    = "changed, Dockerfile"
	changedRewritten = "changed, Dockerfile with rewrite-timestamp"
)

// comparisons are the ratios that matter; those without a target explain others. COPY without --link needs the base unpacked,
// as hashing it does.
var comparisons = []struct {
	name, metric    string
	ours, reference string
	target          float64
}{
	{"first build, empty cache", "cold", coldOurs, coldTheirs, 1.5},
	{"first build, empty cache", "cold-unlinked", coldOurs, coldUnlinked, 0},
	{"nothing changed", "no-op", noopOurs, noopTheirs, 1.0},
	{"one payload file changed", "changed", changedOurs, changedRewritten, 0.5},
	{"one payload file changed", "changed-plain", changedOurs, changedTheirs, 0},
	{"second agent on a scanned base", "second", warmSecond, coldSecond, 0.5},
}

// BenchmarkBuild takes one round of all builds for an iteration: -benchtime 5x gives medians of five.
func BenchmarkBuild(b *testing.B) {
	w := newWorld(b)
	round := 0
	for b.Loop() {
		round++
		w.round(round)
	}
	b.ReportMetric(0, "ns/op") // the sum of unlike things
	for _, c := range comparisons {
		b.ReportMetric(w.median(c.ours)/w.median(c.reference), c.metric+"-ratio")
	}
	w.printTable(round)
}

type world struct {
	b          *testing.B
	daemon     *daemon.Buildkitd
	buildx     *daemon.Buildx
	registry   *daemon.Registry
	ours       testenv.Image // the frontends
	theirs     testenv.Image
	suite      string // the contexts
	dockerfile string
	times      map[string][]time.Duration
}

func newWorld(b *testing.B) *world {
	b.Helper()
	w := &world{b: b, times: map[string][]time.Duration{}, suite: b.TempDir(), dockerfile: b.TempDir()}
	w.registry = testenv.Registry(b)
	w.daemon = testenv.Buildkitd(b, daemon.BuildkitdOptions{Registries: []string{w.registry.Host}})
	w.buildx = testenv.Buildx(b, w.daemon)

	checkout := testenv.Tools(b).Checkout
	push := func(repository, dockerfile, dir string) testenv.Image {
		text, err := os.ReadFile(filepath.Join(checkout, dockerfile))
		require.NoError(b, err)
		dir = filepath.Join(checkout, "build", dir)
		require.DirExists(b, dir, "run `make programs`")
		return testenv.Push(b, w.buildx, w.registry, repository, string(text), dir, "--platform", "linux/amd64")
	}
	w.ours = push("frontend", "Dockerfile.frontend", "frontend")
	w.theirs = testenv.DockerfileFrontend(b, w.buildx, w.registry)
	harness := push("harness", "examples/images/harness.Dockerfile", "examples/images/harness")
	base := testenv.DebianBase(b, w.buildx, w.registry)

	writeSuite(b, w.suite, base, harness)
	w.writeDockerfiles(base, harness)
	return w
}

// unlinked is the name of the Dockerfile without --link.
const unlinked = "unlinked.Dockerfile"

// writeDockerfiles writes what a person would who wants the same filesystem from a Dockerfile.
func (w *world) writeDockerfiles(base, harness testenv.Image) {
	w.b.Helper()
	writePayloads(w.b, w.dockerfile)
	var text strings.Builder
	fmt.Fprintf(&text, "FROM %s\nCOPY --link --from=%s / /\n", base.Ref(), harness.Ref())
	for p := range providers {
		fmt.Fprintf(&text, "COPY --link %s %s\n", payloadRoot(p), installRoot(p))
	}
	fmt.Fprint(&text, "USER 65532:65532\nWORKDIR /\nENTRYPOINT [\"/usr/local/bin/harness\"]\n")
	writeFile(w.b, w.dockerfile, "Dockerfile", 0o644, text.String())
	writeFile(w.b, w.dockerfile, unlinked, 0o644, strings.ReplaceAll(text.String(), "COPY --link", "COPY"))
}

// round runs every build once. Rounds begin with the one side and with the other by turns.
func (w *world) round(n int) {
	w.b.Helper()
	// Repositories of their own, so that no layer is there already.
	first, second, theirs := w.target("first", n), w.target("second", n), w.target("dockerfile", n)
	rewritten := w.target("rewritten", n)

	w.prune()
	w.buildOurs(coldSecond, secondAgent, w.target("second-cold", n))
	inTurn(n,
		func() {
			w.prune()
			w.buildOurs(coldOurs, firstAgent, first)
			w.buildOurs(warmSecond, secondAgent, second)
		},
		func() {
			w.prune()
			w.buildTheirs(coldTheirs, theirs)
		},
		func() {
			w.prune()
			w.buildTheirs(coldUnlinked, w.target("unlinked", n), "--file", filepath.Join(w.dockerfile, unlinked))
		})
	// All but the last of these caches are gone.
	w.buildOurs("", firstAgent, first)
	w.buildTheirs("", theirs)
	w.buildRewritten("", rewritten)

	inTurn(n,
		func() { w.buildOurs(noopOurs, firstAgent, first) },
		func() { w.buildTheirs(noopTheirs, theirs) })

	w.change(2 * n)
	inTurn(n,
		func() { w.buildOurs(changedOurs, firstAgent, first) },
		func() { w.buildRewritten(changedRewritten, rewritten) })
	// What a build with rewrite-timestamp has copied and compressed would serve one without.
	w.change(2*n + 1)
	w.buildTheirs(changedTheirs, theirs)
}

// change changes one payload file on both sides, and seals the suite again.
func (w *world) change(edition int) {
	w.b.Helper()
	changeFile(w.b, edition, w.suite, w.dockerfile)
	sealSuite(w.b, w.suite)
}

// inTurn runs steps from the first to the last in odd rounds, and from the last to the first in even ones.
func inTurn(round int, steps ...func()) {
	if round%2 == 0 {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		step()
	}
}

func (w *world) target(name string, round int) string {
	return fmt.Sprintf("%s/images/%s-%d", w.registry.Host, name, round)
}

func (w *world) buildOurs(series, agent, target string) {
	w.b.Helper()
	w.build(series, w.ours, w.suite, "--file", filepath.Join(w.suite, "agentsuite.json"), "--target", agent,
		"--output", "type=image,push=true,name="+target)
}

func (w *world) buildTheirs(series, target string, args ...string) {
	w.b.Helper()
	w.build(series, w.theirs, w.dockerfile, append(args, "--output", "type=image,push=true,name="+target)...)
}

// buildRewritten is how a Dockerfile's image becomes reproducible, as ours is without further ado.
func (w *world) buildRewritten(series, target string) {
	w.b.Helper()
	w.build(series, w.theirs, w.dockerfile, "--build-arg", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", sourceEpoch),
		"--output", "type=image,push=true,rewrite-timestamp=true,name="+target)
}

// build runs one build to its end and notes its time, unless the series has no name.
func (w *world) build(series string, frontend testenv.Image, dir string, args ...string) {
	w.b.Helper()
	args = append([]string{"build", "--platform", "linux/amd64", "--provenance=false", "--build-arg", "BUILDKIT_SYNTAX=" + frontend.Ref()}, args...)
	start := time.Now()
	_, err := w.buildx.Run(w.b.Context(), append(args, dir)...)
	elapsed := time.Since(start)
	require.NoError(w.b, err)
	if series != "" {
		w.times[series] = append(w.times[series], elapsed)
	}
}

// prune empties the daemon's cache, images included.
func (w *world) prune() {
	w.b.Helper()
	ctx, cancel := context.WithTimeout(w.b.Context(), time.Minute)
	defer cancel()
	c, err := w.daemon.Client(ctx)
	require.NoError(w.b, err)
	defer c.Close()
	require.NoError(w.b, c.Prune(ctx, nil, client.PruneAll))
	left, err := c.DiskUsage(ctx)
	require.NoError(w.b, err)
	require.Empty(w.b, left)
}

// median is that of a series, in seconds.
func (w *world) median(series string) float64 {
	times := slices.Sorted(slices.Values(w.times[series]))
	n := len(times)
	return (times[(n-1)/2] + times[n/2]).Seconds() / 2
}

func seconds(times []time.Duration) []float64 {
	seconds := make([]float64, len(times))
	for i, t := range times {
		seconds[i] = t.Seconds()
	}
	return seconds
}

// printTable prints the comparisons, and all times to tell how steady they are.
func (w *world) printTable(rounds int) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "medians of %d\tours\tbeside\t\tratio\ttarget\n", rounds)
	for _, c := range comparisons {
		ours, reference := w.median(c.ours), w.median(c.reference)
		verdict := ""
		switch ratio := ours / reference; {
		case c.target == 0:
		case ratio <= c.target:
			verdict = fmt.Sprintf("at most %.1f", c.target)
		default:
			verdict = fmt.Sprintf("at most %.1f: missed", c.target)
		}
		fmt.Fprintf(table, "%s\t%.2f s\t%s\t%.2f s\t%.2f\t%s\n", c.name, ours, c.reference, reference, ours/reference, verdict)
	}
	fmt.Fprintln(table)
	for _, series := range slices.Sorted(maps.Keys(w.times)) {
		fmt.Fprintf(table, "%s\t%.2f\n", series, seconds(slices.Sorted(slices.Values(w.times[series]))))
	}
	_ = table.Flush()
	fmt.Printf("\n%s\n", text.String())
}
