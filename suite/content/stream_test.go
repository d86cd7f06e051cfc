package content

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

var errTest = errors.New("trouble")

func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i >> 8 * 31)
	}
	return data
}

func TestReadAhead(t *testing.T) {
	for _, n := range []int{0, 1, bufferBytes - 1, bufferBytes, bufferBytes + 1, 11*bufferBytes + 7} {
		data := pattern(n)
		a := readAhead(bytes.NewReader(data))
		got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(a, 100)))
		require.NoError(t, err)
		rest, err := io.ReadAll(a)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, append(got, rest...)))
		a.Close()
	}
}

func TestReadAheadPassesErrors(t *testing.T) {
	for _, trouble := range []error{errTest, io.ErrUnexpectedEOF} {
		a := readAhead(io.MultiReader(bytes.NewReader(pattern(bufferBytes+5)), iotest.ErrReader(trouble)))
		data, err := io.ReadAll(a)
		require.ErrorIs(t, err, trouble)
		require.Len(t, data, bufferBytes+5, "what came before it is there")
		a.Close()
	}
}

// Closing before the end must not leave the goroutine behind; the package's tests would tell.
func TestReadAheadIsClosedEarly(t *testing.T) {
	for _, read := range []int{0, 10, 3 * bufferBytes} {
		a := readAhead(rand.New(rand.NewSource(1))) // endless
		_, err := io.CopyN(io.Discard, a, int64(read))
		require.NoError(t, err)
		a.Close()
	}
}

// parts records how it was written to.
type parts struct {
	sizes []int
	bytes.Buffer
}

func (p *parts) Write(b []byte) (int, error) {
	p.sizes = append(p.sizes, len(b))
	return p.Buffer.Write(b)
}

func TestWriteBehindDoesNotShowHowItWasWritten(t *testing.T) {
	data := pattern(5*bufferBytes + 3)
	for _, step := range []int{1000, bufferBytes - 1, bufferBytes, len(data)} {
		var p parts
		b := writeBehind(&p)
		for rest := data; len(rest) > 0; {
			n, err := b.Write(rest[:min(step, len(rest))])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.NoError(t, b.Close())
		require.True(t, bytes.Equal(data, p.Bytes()))
		require.Equal(t, []int{bufferBytes, bufferBytes, bufferBytes, bufferBytes, bufferBytes, 3}, p.sizes)
	}
}

type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errTest
	}
	return len(p), nil
}

func TestWriteBehindPassesErrors(t *testing.T) {
	b := writeBehind(&full{2 * bufferBytes})
	_, err := io.Copy(b, rand.New(rand.NewSource(1))) // endless, so it ends only by the error
	require.Error(t, err)
	require.ErrorIs(t, b.Close(), errTest)
	require.ErrorIs(t, b.Close(), errTest, "also when it is asked again")
}

func TestPackingToAFullDisk(t *testing.T) {
	w := newLayerWriter(&full{1000})
	require.NoError(t, w.begin(Entry{Path: "a", Type: File, Mode: 0o644, Size: 1 << 20}))
	_, err := io.CopyN(w, rand.New(rand.NewSource(1)), 1<<20)
	if err == nil {
		_, _, err = w.finish()
	}
	require.ErrorIs(t, errors.Join(err, w.behind.Close()), errTest)
	w.Close()
}

func TestComparePaths(t *testing.T) {
	ordered := []string{"a", "a/b", "a/b/c", "a/b-c", "a/bc", "a-b", "a.b", "a.d/x", "ab", "ab/c", "b"}
	for i, a := range ordered {
		for j, b := range ordered {
			switch got := ComparePaths(a, b); {
			case i < j:
				require.Negative(t, got, "%s %s", a, b)
			case i > j:
				require.Positive(t, got, "%s %s", a, b)
			default:
				require.Zero(t, got)
			}
		}
	}
}
