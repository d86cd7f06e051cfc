package image

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/suite/content"
)

// ScanContent reads the facts of the ELF files and scripts among the regular files of a suite's content, and
// returns them by content path. The content lies in a directory, where nothing but a regular file may be at
// the path of one. Of content with problems nothing is read: it is not built from, and an archive of it is not
// even extracted.
func ScanContent(ctx context.Context, dir string, index *content.Index) (map[string]abi.Facts, error) {
	return scanContent(ctx, dir, index, DefaultScanLimits().FactsBytes)
}

func scanContent(ctx context.Context, dir string, index *content.Index, most int64) (map[string]abi.Facts, error) {
	objects := map[string]abi.Facts{}
	if len(index.Problems) > 0 {
		return objects, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	weight := int64(0)
	for _, e := range index.Entries {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if e.Type != content.File {
			continue
		}
		facts, err := scanFile(root, index, e.Path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", e.Path, err)
		}
		if facts == nil {
			continue
		}
		if weight += facts.Weight(); weight > most {
			return nil, fmt.Errorf("reading %s: with it, what the native files state of themselves takes more than %d bytes", e.Path, most)
		}
		objects[e.Path] = *facts
	}
	return objects, nil
}

func scanFile(root *os.Root, index *content.Index, p string) (*abi.Facts, error) {
	if text, kept := index.Texts[p]; kept {
		return abi.Read(bytes.NewReader(text), int64(len(text)))
	}
	file, err := openRegular(root, p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return abi.Read(file, info.Size())
}
