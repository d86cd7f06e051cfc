package seal

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"
)

// writers is how many documents are written at once. Each waits for the disk, so it pays to wait together.
const writers = 16

// write replaces documents. All of them are written under temporary names beside their places first, so
// that a full disk or a read-only directory leaves everything as it was.
func write(root *os.Root, before, after map[string][]byte) (err error) {
	paths := slices.Sorted(maps.Keys(after))
	temporary := make([]string, len(paths))
	defer func() {
		for _, name := range temporary {
			if name != "" {
				err = errors.Join(err, remove(root, name))
			}
		}
	}()
	var group errgroup.Group
	group.SetLimit(writers)
	for i, name := range paths {
		dir, base := path.Split(name)
		temporary[i] = dir + "." + base + ".sealing-" + rand.Text()
		group.Go(func() error {
			mode, err := unchanged(root, name, before[name])
			if err != nil {
				return err
			}
			if err := create(root, temporary[i], mode, after[name]); err != nil {
				return fmt.Errorf("writing %s: %w", name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, name := range paths {
		if err := root.Rename(temporary[i], name); err != nil {
			return fmt.Errorf("replacing %s: %w", name, err)
		}
		temporary[i] = ""
	}
	return nil
}

// unchanged makes sure that a document is still what was sealed, and returns its mode. An editor may
// have saved it meanwhile.
func unchanged(root *os.Root, name string, before []byte) (fs.FileMode, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return 0, err
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() || !bytes.Equal(data, before) {
		return 0, fmt.Errorf("%s was changed while it was being sealed; nothing is written, seal again", name)
	}
	return info.Mode().Perm(), nil
}

func create(root *os.Root, name string, mode fs.FileMode, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	// The umask took part in OpenFile; an author's mode is to stay.
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

func remove(root *os.Root, name string) error {
	if err := root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
