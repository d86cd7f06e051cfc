package main

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/plugins/content/local"
	dockerconfig "github.com/docker/cli/cli/config"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/identity"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth/authprovider"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/util/appdefaults"
	"github.com/moby/buildkit/util/progress/progressui"
	"github.com/spf13/cobra"
	"github.com/tonistiigi/fsutil"
	"golang.org/x/sync/errgroup"

	"github.com/agentsuite/agentsuite-llb/frontend"
	"github.com/agentsuite/agentsuite-llb/image"
	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/suite"
)

// buildOptions are the flags of build, spelt as buildx spells them.
type buildOptions struct {
	address      string
	frontend     string
	target       string
	platforms    []string
	tags         []string
	push         bool
	outputs      []string
	contexts     contexts
	args         map[string]string
	labels       map[string]string
	attest       []string
	cacheFrom    []string
	cacheTo      []string
	noCache      bool
	progress     string
	metadataFile string
}

func newBuildCommand(s *streams) *cobra.Command {
	var opts buildOptions
	cmd := &cobra.Command{
		Use:   "build PATH",
		Short: "Build an image of a suite through a buildkitd",
		Long: `Build the sandbox image of an agent, or of a tool provider, through a buildkitd. No frontend image is needed: the
program is the frontend itself, and offers its own binary to the build for the steps that read many bytes.

PATH is a directory: an extracted suite or an OCI layout. Progress goes to standard error, the digest of what was
built to standard output; to standard error as well if the image itself goes to standard output.`,
		Example: `  agentsuite-llb build --target writer -t registry.example/writer --push .
  agentsuite-llb build --platform linux/amd64,linux/arm64 -o type=oci,dest=writer.tar .
  agentsuite-llb build --build-context registry.example/base=oci-layout://base -o type=oci,dest=image.tar .`,
		Args: oneArgument("give the directory of a suite"),
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.address, "addr", "", "address of the buildkitd (default: BUILDKIT_HOST, else the local one)")
	flags.StringVar(&opts.frontend, "frontend", "", "build with this frontend image instead of this program")
	target := addTargetFlag(cmd)
	flags.StringSliceVar(&opts.platforms, "platform", nil, "platforms to build for (default: the builder's)")
	flags.StringArrayVarP(&opts.tags, "tag", "t", nil, "name of the image")
	flags.BoolVar(&opts.push, "push", false, "push the image to its registry")
	flags.StringArrayVarP(&opts.outputs, "output", "o", nil, "where the result goes: type=image|oci|docker|tar|local,…")
	places := addContextFlag(cmd)
	buildArgs := flags.StringArray("build-arg", nil, "`NAME=VALUE` for the frontend")
	labels := addLabelFlag(cmd)
	flags.StringArrayVar(&opts.attest, "attest", nil, "attestation to add: type=provenance,… or type=sbom,…")
	flags.StringArrayVar(&opts.cacheFrom, "cache-from", nil, "cache to import, such as type=registry,ref=…")
	flags.StringArrayVar(&opts.cacheTo, "cache-to", nil, "cache to export, such as type=registry,ref=…")
	flags.BoolVar(&opts.noCache, "no-cache", false, "run every step again")
	flags.StringVar(&opts.progress, "progress", string(progressui.AutoMode), "progress display: auto, plain, tty, quiet or rawjson")
	flags.StringVar(&opts.metadataFile, "metadata-file", "", "write what BuildKit tells of the result to this file, as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		opts.target = *target
		if opts.contexts, err = parseContexts(cmd, *places); err != nil {
			return err
		}
		if opts.args, err = parsePairs(cmd, "build-arg", *buildArgs); err != nil {
			return err
		}
		if opts.labels, err = parsePairs(cmd, "label", *labels); err != nil {
			return err
		}
		return build(cmd.Context(), s, args[0], opts)
	}
	return cmd
}

func build(ctx context.Context, s *streams, path string, opts buildOptions) error {
	request, err := newBuildRequest(s, path, opts)
	if err != nil {
		return err
	}
	defer request.discard()
	daemon, err := client.New(ctx, opts.daemon())
	if err != nil {
		return fmt.Errorf("connecting to the buildkitd at %s: %w", opts.daemon(), err)
	}
	defer daemon.Close()
	if _, err := daemon.Info(ctx); err != nil {
		return fmt.Errorf("no buildkitd answers at %s; start one, or name it with --addr or BUILDKIT_HOST: %w", opts.daemon(), err)
	}
	display, err := progressui.NewDisplay(s.err, progressui.DisplayMode(opts.progress))
	if err != nil {
		return err
	}
	response, err := request.solve(ctx, daemon, display)
	if err != nil {
		for _, source := range errdefs.Sources(err) {
			if err := source.Print(s.err); err != nil {
				return err
			}
		}
		return &refused{err}
	}
	if err := request.commit(); err != nil {
		return err
	}
	if opts.metadataFile != "" {
		if err := writeMetadata(opts.metadataFile, response.ExporterResponse); err != nil {
			return err
		}
	}
	if dgst := response.ExporterResponse["containerimage.digest"]; dgst != "" {
		if request.piped {
			s.note("%s", dgst)
		} else {
			fmt.Fprintln(s.out, dgst)
		}
	}
	return nil
}

// refused is a build that the daemon or the frontend ended.
type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

func (o buildOptions) daemon() string {
	switch host := os.Getenv("BUILDKIT_HOST"); {
	case o.address != "":
		return o.address
	case host != "":
		return host
	}
	return appdefaults.Address
}

// buildRequest is a build as the daemon's client takes it.
type buildRequest struct {
	options client.SolveOpt
	// packaged is set when the frontend runs from an image.
	packaged bool
	// piped is set when the result goes to standard output, where nothing else may go then.
	piped bool
	files []*outputFile
}

func newBuildRequest(s *streams, path string, opts buildOptions) (*buildRequest, error) {
	if err := checkDirectory(path); err != nil {
		return nil, err
	}
	main, err := fsutil.NewFS(path)
	if err != nil {
		return nil, err
	}
	shared, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := &buildRequest{
		packaged: opts.frontend != "",
		options: client.SolveOpt{
			Ref: identity.NewID(),
			// The daemon keeps the files of one directory between builds, and of each directory its own.
			SharedKey:     shared,
			LocalMounts:   map[string]fsutil.FS{"context": main, "dockerfile": main},
			OCIStores:     map[string]content.Store{},
			FrontendAttrs: map[string]string{"filename": suite.ManifestPath},
			Session: []session.Attachable{authprovider.NewDockerAuthProvider(authprovider.DockerAuthProviderConfig{
				AuthConfigProvider: authprovider.LoadAuthConfig(dockerconfig.LoadDefaultConfigFile(io.Discard)),
			})},
		},
	}
	if r.packaged {
		r.options.Frontend = "gateway.v0"
		r.options.FrontendAttrs["source"] = opts.frontend
	} else if r.options.LocalMounts[frontend.LocalExecutable], err = ownBinary(); err != nil {
		return nil, err
	}
	if err := r.setAttributes(opts); err != nil {
		return nil, err
	}
	if err := r.setOutputs(s.out, opts); err != nil {
		r.discard()
		return nil, err
	}
	return r, nil
}

func (r *buildRequest) setAttributes(opts buildOptions) error {
	attrs := r.options.FrontendAttrs
	if opts.target != "" {
		attrs["target"] = opts.target
	}
	if len(opts.platforms) > 0 {
		attrs["platform"] = strings.Join(opts.platforms, ",")
	}
	if opts.noCache {
		attrs["no-cache"] = ""
	}
	for name, value := range opts.args {
		attrs["build-arg:"+name] = value
	}
	for name, value := range opts.labels {
		attrs["label:"+name] = value
	}
	for _, attest := range opts.attest {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(attest, "type="), ",")
		attrs["attest:"+kind] = rest
	}
	for _, context := range opts.contexts {
		if err := r.addContext(context); err != nil {
			return err
		}
	}
	return nil
}

// addContext adds a named context, in the form in which buildx hands one to a frontend.
func (r *buildRequest) addContext(context image.Context) error {
	if context.Scheme == image.ContextLayout {
		dir, err := ociimage.LayoutDirectory(context.Value)
		if err != nil {
			return fmt.Errorf("build context %s: %w", context.Name, err)
		}
		store, err := local.NewStore(dir)
		if err != nil {
			return fmt.Errorf("build context %s: %w", context.Name, err)
		}
		id := identity.NewID()
		r.options.OCIStores[id] = store
		context.Value = id
	}
	r.options.FrontendAttrs["context:"+context.Key()] = context.Place()
	return nil
}

func (r *buildRequest) setOutputs(stdout io.Writer, opts buildOptions) (err error) {
	if r.options.CacheImports, err = cacheOptions(opts.cacheFrom); err != nil {
		return fmt.Errorf("--cache-from: %w", err)
	}
	if r.options.CacheExports, err = cacheOptions(opts.cacheTo); err != nil {
		return fmt.Errorf("--cache-to: %w", err)
	}
	for _, output := range opts.outputs {
		entry, file, err := parseOutput(output)
		if err != nil {
			return err
		}
		switch {
		case file != nil:
			r.files = append(r.files, file)
		case entry.OutputDir == "" && entry.Type != client.ExporterImage:
			r.piped = true
			entry.Output = func(map[string]string) (io.WriteCloser, error) { return keepOpen{stdout}, nil }
		}
		r.options.Exports = append(r.options.Exports, entry)
	}
	if opts.push {
		image := slices.IndexFunc(r.options.Exports, func(e client.ExportEntry) bool { return e.Type == client.ExporterImage })
		if image < 0 {
			image = len(r.options.Exports)
			r.options.Exports = append(r.options.Exports, client.ExportEntry{Type: client.ExporterImage, Attrs: map[string]string{}})
		}
		if len(opts.tags) == 0 && r.options.Exports[image].Attrs["name"] == "" {
			return errors.New("--push needs to know where to: name the image with --tag")
		}
		r.options.Exports[image].Attrs["push"] = "true"
	}
	if len(r.options.Exports) == 0 && len(opts.tags) > 0 {
		r.options.Exports = []client.ExportEntry{{Type: client.ExporterImage, Attrs: map[string]string{}}}
	}
	for _, entry := range r.options.Exports {
		if len(opts.tags) > 0 && entry.Type != client.ExporterLocal && entry.Type != client.ExporterTar {
			entry.Attrs["name"] = strings.Join(opts.tags, ",")
		}
	}
	return nil
}

func (r *buildRequest) solve(ctx context.Context, daemon *client.Client, display progressui.Display) (*client.SolveResponse, error) {
	var response *client.SolveResponse
	status := make(chan *client.SolveStatus)
	group, solveCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if r.packaged {
			response, err = daemon.Solve(solveCtx, nil, r.options, status)
		} else {
			response, err = daemon.Build(solveCtx, r.options, programName, frontend.BuildFromClient, status)
		}
		return err
	})
	group.Go(func() error {
		// The display ends with the channel, so that it shows how a failed build ended.
		_, err := display.UpdateFrom(context.WithoutCancel(ctx), status)
		return err
	})
	return response, group.Wait()
}

// commit gives the written files their names; discard removes what was not committed.
func (r *buildRequest) commit() error {
	for _, file := range r.files {
		if err := file.commit(); err != nil {
			return err
		}
	}
	return nil
}

func (r *buildRequest) discard() {
	for _, file := range r.files {
		file.discard()
	}
}

// ownBinary offers this program's binary to the build, alone in a directory.
func ownBinary() (fsutil.FS, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program's binary: %w", err)
	}
	binary, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("this program cannot serve as the build's tool, since it is no Linux binary; name a frontend image with --frontend: %w", err)
	}
	defer binary.Close()
	if slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return nil, fmt.Errorf("%s is dynamically linked and cannot run in an empty filesystem; build it with CGO_ENABLED=0, or name a frontend image with --frontend", path)
	}
	dir, err := fsutil.NewFS(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return fsutil.NewFilterFS(dir, &fsutil.FilterOpt{IncludePatterns: []string{filepath.Base(path)}})
}

func writeMetadata(path string, response map[string]string) error {
	metadata := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(response)) {
		var value any
		if json.Unmarshal([]byte(response[key]), &value) != nil {
			value = response[key]
		}
		metadata[key] = value
	}
	data, err := json.MarshalIndent(metadata, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(data, '\n'))
}
