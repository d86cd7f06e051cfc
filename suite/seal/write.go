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
)

// write replaces documents. All of them are written under temporary names beside their places first, so
// that a full disk or a read-only directory leaves everything as it was.
func write(root *os.Root, before, after map[string][]byte) (err error) {
	paths := slices.Sorted(maps.Keys(after))
	temporary := make(map[string]string, len(paths))
	defer func() {
		for _, name := range temporary {
			err = errors.Join(err, root.Remove(name))
		}
	}()
	for _, name := range paths {
		mode, err := unchanged(root, name, before[name])
		if err != nil {
			return err
		}
		dir, base := path.Split(name)
		temp := dir + "." + base + ".sealing-" + rand.Text()
		temporary[name] = temp
		if err := create(root, temp, mode, after[name]); err != nil {
			delete(temporary, name)
			return errors.Join(fmt.Errorf("writing %s: %w", name, err), remove(root, temp))
		}
	}
	for _, name := range paths {
		if err := root.Rename(temporary[name], name); err != nil {
			return fmt.Errorf("replacing %s: %w", name, err)
		}
		delete(temporary, name)
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
