package image

import (
	"context"
	"io"
	"os"

	"github.com/agentsuite/agentsuite-llb/image/abi"
)

// ScanDir scans the filesystem below root.
func ScanDir(ctx context.Context, root *os.Root) (*Scan, error) { panic("being written") }

// ScanObjects reads the facts of the ELF files and scripts among the regular files that paths name.
func ScanObjects(ctx context.Context, root *os.Root, paths []string) (map[string]abi.Facts, error) {
	panic("being written")
}

// Encode writes the scan in the form that [DecodeScan] reads. Equal scans give equal bytes.
func (s *Scan) Encode(w io.Writer) error { panic("being written") }

// DecodeScan reads what [Scan.Encode] wrote.
func DecodeScan(r io.Reader) (*Scan, error) { panic("being written") }
