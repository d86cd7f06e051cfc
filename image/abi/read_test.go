package abi_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentsuite/agentsuite-llb/image/abi"
	"github.com/agentsuite/agentsuite-llb/image/abi/elftest"
)

func read(t testing.TB, raw []byte) *abi.Facts {
	t.Helper()
	facts, err := abi.Read(bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	return facts
}

func TestReadScript(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := map[string]struct {
		text string
		want []string
	}{
		"plain":                                {"#!/bin/sh\necho\n", []string{"/bin/sh"}},
		"no newline":                           {"#!/bin/sh", []string{"/bin/sh"}},
		"blanks around":                        {"#! \t/bin/sh \t\n", []string{"/bin/sh"}},
		"one argument of several words":        {"#!/usr/bin/env  -S python3 -u \n", []string{"/usr/bin/env", "-S python3 -u"}},
		"carriage return is kept":              {"#!/bin/sh\r\n", []string{"/bin/sh\r"}},
		"ends at NUL":                          {"#!/bin/sh\x00junk\n", []string{"/bin/sh"}},
		"empty line":                           {"#!\n", nil},
		"only blanks":                          {"#!  \t\n", nil},
		"name longer than the kernel's buffer": {"#!/" + long + "\n", nil},
		"argument longer than the kernel's buffer": {"#!/bin/sh " + long + "\n", []string{"/bin/sh", long[:256-len("#!/bin/sh ")]}},
		"no script": {"# !/bin/sh\n", nil},
		"empty":     {"", nil},
		"one byte":  {"#", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			facts := read(t, []byte(tt.text))
			if tt.want == nil {
				require.Nil(t, facts)
				return
			}
			require.Empty(t, cmp.Diff(&abi.Facts{Interpreter: tt.want}, facts))
		})
	}
}

func TestReadELF(t *testing.T) {
	tests := map[string]struct {
		file elftest.File
		want abi.ELF
	}{
		"static": {elftest.File{}, abi.ELF{Machine: "amd64", Executable: true}},
		"arm64":  {elftest.File{Machine: elf.EM_AARCH64}, abi.ELF{Machine: "arm64", Executable: true}},
		"another machine": {elftest.File{Machine: elf.EM_RISCV},
			abi.ELF{Machine: "EM_RISCV 64-bit", Executable: true}},
		"program": {
			elftest.File{
				Loader: "/lib64/ld-linux-x86-64.so.2", Needed: []string{"libb.so.1", "liba.so.1"},
				RunPath:  []string{"$ORIGIN/../lib", "/opt/lib"},
				Versions: []elftest.Versions{{Library: "liba.so.1", Names: []string{"A_1.0", "?A_2.0", "A_1.1"}}, {Library: "libb.so.1", Names: []string{"B_1"}}},
				ISA:      3,
			},
			abi.ELF{
				Machine: "amd64", Executable: true, Loader: "/lib64/ld-linux-x86-64.so.2",
				Needed: []string{"libb.so.1", "liba.so.1"}, RunPath: []string{"$ORIGIN/../lib", "/opt/lib"},
				Versions:  map[string][]string{"liba.so.1": {"A_1.0", "A_1.1"}, "libb.so.1": {"B_1"}},
				ISANeeded: "x86-64-v3",
			},
		},
		"library": {
			elftest.File{Library: true, Soname: "liba.so.1", RPath: []string{"/a", "/b"}, Defines: []string{"A_1.0", "A_1.1"}},
			abi.ELF{Machine: "amd64", Soname: "liba.so.1", RPath: []string{"/a", "/b"}, Defines: []string{"A_1.0", "A_1.1"}},
		},
		"property of an old linker": {
			elftest.File{ISA: 1, PlainNote: true}, abi.ELF{Machine: "amd64", Executable: true, ISANeeded: "x86-64-v1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			raw := tt.file.Bytes()
			require.Empty(t, cmp.Diff(&abi.Facts{ELF: &tt.want}, read(t, raw)))
			_, err := elf.NewFile(bytes.NewReader(raw))
			require.NoError(t, err, "the test's own ELF file must be one")
		})
	}
}

// patch overwrites bytes of a file at an offset.
func patch(raw []byte, at int, v any) []byte {
	raw = bytes.Clone(raw)
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, v)
	copy(raw[at:], b.Bytes())
	return raw
}

func TestReadOtherELF(t *testing.T) {
	raw := elftest.File{}.Bytes()
	for _, kind := range []elf.Type{elf.ET_REL, elf.ET_CORE, elf.ET_NONE} {
		require.Nil(t, read(t, patch(raw, 16, uint16(kind))), "%s files are data", kind)
	}
	require.Equal(t, "EM_386 32-bit", read(t, patch(patch(raw, 4, uint8(1)), 18, uint16(elf.EM_386))).ELF.Machine)
	require.Equal(t, "EM_X86_64 32-bit", read(t, patch(raw, 4, uint8(1))).ELF.Machine, "x32 is no amd64")
	big := patch(patch(raw, 5, uint8(2)), 16, [4]byte{0, byte(elf.ET_EXEC), 0, byte(elf.EM_S390)})
	require.Equal(t, "EM_S390 64-bit big-endian", read(t, big).ELF.Machine)
}

func TestReadMalformedELF(t *testing.T) {
	program := elftest.File{
		Loader: "/lib64/ld-linux-x86-64.so.2", Needed: []string{"liba.so"}, ISA: 1,
		Versions: []elftest.Versions{{Library: "liba.so", Names: []string{"A"}}},
	}.Bytes()
	library := elftest.File{Library: true, Soname: "liba.so", Defines: []string{"A"}}.Bytes()
	header := func(raw []byte, kind elf.ProgType) int {
		for at := 64; ; at += 56 {
			if binary.LittleEndian.Uint32(raw[at:]) == uint32(kind) {
				return at
			}
		}
	}
	dynamicValue := func(raw []byte, tag elf.DynTag) int {
		for at := int(binary.LittleEndian.Uint64(raw[header(raw, elf.PT_DYNAMIC)+8:])); ; at += 16 {
			if binary.LittleEndian.Uint64(raw[at:]) == uint64(tag) {
				return at + 8
			}
		}
	}
	fileOffset := func(raw []byte, tag elf.DynTag) int {
		return int(binary.LittleEndian.Uint64(raw[dynamicValue(raw, tag):]))
	}
	tests := map[string]struct {
		raw  []byte
		want string
	}{
		"magic alone":                {[]byte(elf.ELFMAG), "the file's 4 bytes end before the ELF header"},
		"cut in the header":          {program[:40], "end before the ELF header"},
		"cut in the program headers": {program[:70], "end before the program headers"},
		"program headers far away":   {patch(program, 32, uint64(1)<<63), "end before the program headers"},
		"odd program headers":        {patch(program, 54, uint16(32)), "a program header has 32 bytes instead of 56"},
		"too many program headers":   {patch(program, 56, uint16(0xffff)), "there are 65535 program headers"},
		"long loader":                {patch(program, header(program, elf.PT_INTERP)+32, uint64(5000)), "the loader's name has 5000 bytes"},
		"loader without end":         {patch(program, header(program, elf.PT_INTERP)+32, uint64(4)), "the loader's name has no end"},
		"endless dynamic section":    {patch(program, header(program, elf.PT_DYNAMIC)+32, uint64(1)<<40), "entries"},
		"dynamic section far away":   {patch(program, header(program, elf.PT_DYNAMIC)+8, ^uint64(0)), "end before the dynamic section"},
		"string table in no segment": {patch(program, dynamicValue(program, elf.DT_STRTAB), uint64(1)<<50), "no segment holds the dynamic string table"},
		"needed behind the strings":  {patch(program, dynamicValue(program, elf.DT_NEEDED), uint64(1)<<50), "a string starts behind the dynamic string table"},
		"string without end":         {patch(program, dynamicValue(program, elf.DT_STRSZ), uint64(3)), "a string of the dynamic section has no end"},
		"versions in no segment":     {patch(program, dynamicValue(program, elf.DT_VERNEED), uint64(1)<<50), "no segment holds the needed symbol versions"},
		"version record far away":    {patch(program, fileOffset(program, elf.DT_VERNEED)+8, ^uint32(0)), "end before the needed symbol versions"},
		"definitions far away":       {patch(library, fileOffset(library, elf.DT_VERDEF)+16, ^uint32(0)), "end before the defined symbol versions"},
		"note behind its segment":    {patch(program, int(binary.LittleEndian.Uint64(program[header(program, elf.PT_GNU_PROPERTY)+8:]))+4, ^uint32(0)), "a note ends behind its segment"},
		"endless notes":              {patch(program, header(program, elf.PT_GNU_PROPERTY)+32, uint64(1)<<40), "the notes have"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, read(t, tt.raw).ELF.Malformed, tt.want)
		})
	}
}

// TestReadManyStrings holds that version records which all name one string come to an end.
func TestReadManyStrings(t *testing.T) {
	names := make([]string, 60_000)
	for i := range names {
		names[i] = "VERSION"
	}
	raw := elftest.File{Library: true, Versions: []elftest.Versions{{Library: "a", Names: names}}}.Bytes()
	require.Contains(t, read(t, raw).ELF.Malformed, "strings have more than 262144 bytes")
}

type failingReader struct{ io.ReaderAt }

func (f failingReader) ReadAt(p []byte, off int64) (int, error) {
	if off > 0 {
		return 0, errors.New("the disk is broken")
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestReadError(t *testing.T) {
	raw := elftest.File{}.Bytes()
	_, err := abi.Read(failingReader{bytes.NewReader(raw)}, int64(len(raw)))
	require.ErrorContains(t, err, "the disk is broken")
	_, err = abi.Read(bytes.NewReader(raw[:10]), int64(len(raw)))
	require.ErrorIs(t, err, io.EOF, "a file that shrank is an error, not a malformed file")
}

// TestReadGoBinaries reads what the Go linker makes.
func TestReadGoBinaries(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	for _, arch := range []string{"amd64", "arm64"} {
		out := filepath.Join(dir, arch)
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, "main.go")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=", "GOWORK=off")
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
		raw, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(&abi.Facts{ELF: &abi.ELF{Machine: arch, Executable: true}}, read(t, raw)))
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("#!/usr/bin/env -S python3 -u\n"))
	f.Add(elftest.File{}.Bytes())
	f.Add(elftest.File{
		Loader: "/lib/ld-musl-x86_64.so.1", Needed: []string{"liba.so"}, RunPath: []string{"$ORIGIN"}, ISA: 2,
		Versions: []elftest.Versions{{Library: "liba.so", Names: []string{"A", "?B"}}},
	}.Bytes())
	f.Add(elftest.File{Library: true, Soname: "liba.so", RPath: []string{"/a"}, Defines: []string{"A"}, ISA: 1, PlainNote: true}.Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		facts := read(t, raw)
		if facts == nil {
			return
		}
		if (facts.ELF == nil) == (facts.Interpreter == nil) {
			t.Fatalf("facts must be of an ELF file or of a script: %+v", facts)
		}
		if facts.ELF == nil && (len(facts.Interpreter) > 2 || facts.Interpreter[0] == "") {
			t.Fatalf("a script has an interpreter and at most one argument: %q", facts.Interpreter)
		}
	})
}

func encodeAll(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	return b.Bytes()
}
