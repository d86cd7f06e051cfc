package frontend

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"
	"golang.org/x/sync/errgroup"

	"github.com/agentsuite/agentsuite-llb/suite/content"
	"github.com/agentsuite/agentsuite-llb/suite/problem"
)

// Between two builds of a local directory a daemon keeps the files and the hashes by which it finds
// results in its cache. When nothing but the mode of a directory changes, it changes the mode and leaves
// the hashes (fsutil's DiskWriter notifies nobody), so the index of a suite may be one that is cached for
// another mode. What bundles copy is guarded by its own operation, see BundleCopy.Directories.

// readers is how many requests for directories are under way at a time.
const readers = 8

// modesChanged tells whether directories of a local context have other modes than the index says.
func (b *build) modesChanged(ctx context.Context, main llb.State, s *source) (bool, error) {
	if s.index.Form != content.FormDirectory {
		return false, nil
	}
	local, err := isLocal(ctx, main)
	if err != nil || !local {
		return false, err
	}
	ref, err := b.solver.solve(ctx, main, s.allowed)
	if err != nil {
		return false, err
	}
	var changed atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for _, dir := range parentsOfDirectories(s.index) {
		group.Go(func() error {
			if changed.Load() {
				return nil
			}
			entries, err := ref.ReadDir(ctx, client.ReadDirRequest{Path: dir})
			if err != nil {
				return fmt.Errorf("reading the directory %s of the build context: %w", problem.Quoted(dir), err)
			}
			for _, e := range entries {
				if mode := fs.FileMode(e.Mode); mode.IsDir() && !saysMode(s.index, path.Join(dir, e.Path), mode) {
					changed.Store(true)
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return changed.Load(), err
}

// isLocal tells whether a state is a directory of the client.
func isLocal(ctx context.Context, state llb.State) (bool, error) {
	def, err := state.Marshal(ctx)
	if err != nil {
		return false, err
	}
	for _, data := range def.Def {
		var op pb.Op
		if err := op.Unmarshal(data); err != nil {
			return false, err
		}
		if strings.HasPrefix(op.GetSource().GetIdentifier(), "local://") {
			return true, nil
		}
	}
	return false, nil
}

// parentsOfDirectories lists the directories in which others lie.
func parentsOfDirectories(index *content.Index) []string {
	var parents []string
	seen := map[string]bool{}
	for _, e := range index.Entries {
		if parent := path.Dir(e.Path); e.Type == content.Directory && !seen[parent] {
			seen[parent] = true
			parents = append(parents, parent)
		}
	}
	return parents
}

// saysMode tells whether an index says a directory's mode, or does not know the directory.
func saysMode(index *content.Index, p string, mode fs.FileMode) bool {
	e, ok := index.Entry(p)
	if !ok {
		return true
	}
	// An entry has permission bits; more of them are a problem.
	refused := false
	for _, found := range index.Problems {
		refused = refused || found.Rule == problem.PathMode && found.Path == p
	}
	return e.Type == content.Directory && fs.FileMode(e.Mode) == mode.Perm() &&
		refused == (mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0)
}
