package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// CopyFiles copies regular files of an extracted suite, which lies at src and whose index x is, to out:
// each at its content path, as a file of its own whatever other names it has, with the mode of its
// entry, as the directories on the way have theirs. out must not exist, its parent must; it appears when
// all is copied. An error is trouble with reading or writing, the context's end, or a path or a file
// that is not as the index says.
func (x *Index) CopyFiles(ctx context.Context, src, out string, paths []string) (err error) {
	from, err := os.OpenRoot(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := openDestination(out)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := to.vacant(); err != nil {
		return err
	}
	staged, err := to.stage(len(x.Entries))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, staged.discard())
		}
	}()
	c := &fileCopier{ctx: ctx, from: handles{root: from}, to: staged, copier: newCopier()}
	defer c.from.close()
	for _, p := range paths {
		e, ok := x.Entry(p)
		if !ok || e.Type != File {
			return fmt.Errorf("copying %s: it is no file of the content", p)
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if d, ok := x.Entry(dir); ok {
				staged.directory(dir, d.Mode)
			}
		}
		if err := c.copy(e); err != nil {
			return fmt.Errorf("copying %s: %w", p, err)
		}
	}
	return staged.commit()
}

type fileCopier struct {
	ctx    context.Context
	from   handles
	to     *staging
	copier *copier
}

func (c *fileCopier) copy(e Entry) error {
	dir, err := c.from.at(path.Dir(e.Path))
	if err != nil {
		return err
	}
	name := path.Base(e.Path)
	stat, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !stat.Mode().IsRegular() || stat.Size() != e.Size {
		return errChanged(e.Path)
	}
	in, err := openSame(dir, name, stat)
	if err != nil {
		return err
	}
	defer in.Close()
	out := c.to.file(e.Path, e.Mode)
	sum, _, err := c.copier.file(out, &source{ctx: c.ctx, r: in}, e.Size, false)
	out.Close()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errChanged(e.Path)
	case err != nil:
		return err
	case sum != e.Digest:
		return errChanged(e.Path)
	}
	return c.to.err
}
