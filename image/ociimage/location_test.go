package ociimage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/ociimage"
	"github.com/agentsuite/agentsuite-llb/image/ociimage/ocitest"
)

func TestLayoutDirectory(t *testing.T) {
	dir := ocitest.NewLayout().WriteDir(t)
	someDigest := "@sha256:" + strings.Repeat("0", 64)
	for _, ref := range []string{dir, dir + ":v1", dir + someDigest, dir + ":v1" + someDigest} {
		got, err := ociimage.LayoutDirectory(ref)
		require.NoError(t, err, ref)
		require.Equal(t, dir, got)
	}
	for ref, want := range map[string]string{
		dir + "/nowhere":                 "no such file or directory",
		dir + "/nowhere" + someDigest:    "no such file or directory",
		dir + "@sha256:1":                "sha256:1",
		t.TempDir():                      "no directory with an OCI image layout",
		filepath.Join(dir, "oci-layout"): "no directory with an OCI image layout",
		ocitest.NewLayout().WriteTar(t):  "no directory with an OCI image layout",
	} {
		_, err := ociimage.LayoutDirectory(ref)
		require.ErrorContains(t, err, want, ref)
	}
	// Asking makes nothing.
	require.NoDirExists(t, dir+someDigest)
	_, err := os.Stat(dir + "/nowhere")
	require.ErrorIs(t, err, os.ErrNotExist)
}
