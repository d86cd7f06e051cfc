// Package elftest writes small ELF files for tests: files with the headers and the dynamic section
// that a loader reads, and not one instruction.
package elftest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
)

// File says what the ELF file holds. The zero value is a static executable for amd64.
type File struct {
	// Machine is the ELF machine; 0 is amd64.
	Machine elf.Machine
	// Library makes a shared object; everything else is an executable.
	Library bool
	// Loader, Soname, Needed, RPath and RunPath are the entries of the same name; paths are joined with
	// colons.
	Loader, Soname         string
	Needed, RPath, RunPath []string
	// Versions and Defines are the symbol versions needed, by library, and offered. A needed version
	// that begins with "?" is a weak one.
	Versions []Versions
	Defines  []string
	// ISA is the highest needed x86 ISA level; 0 leaves the property out.
	ISA int
	// PlainNote puts the property where linkers of old put it: in a note without a header of its own.
	PlainNote bool
}

// Versions are symbol versions of one library.
type Versions struct {
	Library string
	Names   []string
}

// Bytes returns the file. Equal Files give equal bytes.
func (f File) Bytes() []byte {
	w := writer{File: f, offsets: map[string]uint32{"": 0}, strings: []byte{0}}
	dynamic := w.dynamic()
	programs := 1
	for _, present := range []bool{f.Loader != "", dynamic != nil, f.ISA > 0} {
		if present {
			programs++
		}
	}
	w.out = make([]byte, 64+programs*56)
	w.write(dynamic)
	return w.out
}

type writer struct {
	File
	strings []byte
	offsets map[string]uint32
	out     []byte
	headers []elf.Prog64
}

func (w *writer) name(s string) uint32 {
	if at, ok := w.offsets[s]; ok {
		return at
	}
	at := uint32(len(w.strings))
	w.offsets[s] = at
	w.strings = append(append(w.strings, s...), 0)
	return at
}

// dynamic returns the entries whose values are string offsets, or nil for a static file.
func (w *writer) dynamic() []elf.Dyn64 {
	var entries []elf.Dyn64
	add := func(tag elf.DynTag, s string) {
		entries = append(entries, elf.Dyn64{Tag: int64(tag), Val: uint64(w.name(s))})
	}
	for _, n := range w.Needed {
		add(elf.DT_NEEDED, n)
	}
	if w.Soname != "" {
		add(elf.DT_SONAME, w.Soname)
	}
	if w.RPath != nil {
		add(elf.DT_RPATH, strings.Join(w.RPath, ":"))
	}
	if w.RunPath != nil {
		add(elf.DT_RUNPATH, strings.Join(w.RunPath, ":"))
	}
	if entries == nil && w.Versions == nil && w.Defines == nil && w.Loader == "" && !w.Library {
		return nil
	}
	return append([]elf.Dyn64{}, entries...)
}

// place appends bytes at the next multiple of 8 and returns where.
func (w *writer) place(raw []byte) uint64 {
	for len(w.out)%8 != 0 {
		w.out = append(w.out, 0)
	}
	at := uint64(len(w.out))
	w.out = append(w.out, raw...)
	return at
}

func (w *writer) segment(kind elf.ProgType, raw []byte) {
	at, size := w.place(raw), uint64(len(raw))
	w.headers = append(w.headers, elf.Prog64{
		Type: uint32(kind), Flags: uint32(elf.PF_R), Off: at, Vaddr: at, Paddr: at, Filesz: size, Memsz: size, Align: 8,
	})
}

func (w *writer) write(dynamic []elf.Dyn64) {
	if w.Loader != "" {
		w.segment(elf.PT_INTERP, append([]byte(w.Loader), 0))
	}
	if w.ISA > 0 {
		kind := elf.PT_GNU_PROPERTY
		if w.PlainNote {
			kind = elf.PT_NOTE
		}
		w.segment(kind, property(uint32(1)<<w.ISA-1))
	}
	if dynamic != nil {
		if w.Versions != nil {
			dynamic = append(dynamic,
				elf.Dyn64{Tag: int64(elf.DT_VERNEED), Val: w.place(w.needs())},
				elf.Dyn64{Tag: int64(elf.DT_VERNEEDNUM), Val: uint64(len(w.Versions))})
		}
		if w.Defines != nil {
			dynamic = append(dynamic,
				elf.Dyn64{Tag: int64(elf.DT_VERDEF), Val: w.place(w.defines())},
				elf.Dyn64{Tag: int64(elf.DT_VERDEFNUM), Val: uint64(len(w.Defines) + 1)})
		}
		dynamic = append(dynamic,
			elf.Dyn64{Tag: int64(elf.DT_STRTAB), Val: w.place(w.strings)},
			elf.Dyn64{Tag: int64(elf.DT_STRSZ), Val: uint64(len(w.strings))},
			elf.Dyn64{Tag: int64(elf.DT_NULL)})
		w.segment(elf.PT_DYNAMIC, encode(dynamic))
	}
	size := uint64(len(w.out))
	w.headers = append(w.headers, elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Filesz: size, Memsz: size, Align: 4096,
	})

	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(cmpOr(w.Machine, elf.EM_X86_64)), Version: 1,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(w.headers)),
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = 2, 1, 1
	if w.Library || w.Loader != "" {
		header.Type = uint16(elf.ET_DYN)
	}
	copy(w.out, encode(header))
	copy(w.out[64:], encode(w.headers))
}

func cmpOr(m, otherwise elf.Machine) elf.Machine {
	if m == 0 {
		return otherwise
	}
	return m
}

// needs writes the Verneed records, each followed by its Vernaux records.
func (w *writer) needs() []byte {
	var out []byte
	le := binary.LittleEndian
	for i, need := range w.Versions {
		next := uint32(16 + 16*len(need.Names))
		if i == len(w.Versions)-1 {
			next = 0
		}
		out = le.AppendUint16(out, 1)
		out = le.AppendUint16(out, uint16(len(need.Names)))
		out = le.AppendUint32(out, w.name(need.Library))
		out = le.AppendUint32(out, 16)
		out = le.AppendUint32(out, next)
		for j, name := range need.Names {
			var flags uint16
			if weak, ok := strings.CutPrefix(name, "?"); ok {
				name, flags = weak, uint16(elf.VER_FLG_WEAK)
			}
			next := uint32(16)
			if j == len(need.Names)-1 {
				next = 0
			}
			out = le.AppendUint32(out, 0) // hash
			out = le.AppendUint16(out, flags)
			out = le.AppendUint16(out, uint16(j+2))
			out = le.AppendUint32(out, w.name(name))
			out = le.AppendUint32(out, next)
		}
	}
	return out
}

// defines writes the Verdef records, the file's own name first.
func (w *writer) defines() []byte {
	var out []byte
	le := binary.LittleEndian
	names := append([]string{w.Soname}, w.Defines...)
	for i, name := range names {
		var flags uint16
		if i == 0 {
			flags = uint16(elf.VER_FLG_BASE)
		}
		next := uint32(28)
		if i == len(names)-1 {
			next = 0
		}
		out = le.AppendUint16(out, 1)
		out = le.AppendUint16(out, flags)
		out = le.AppendUint16(out, uint16(i+1))
		out = le.AppendUint16(out, 1)
		out = le.AppendUint32(out, 0) // hash
		out = le.AppendUint32(out, 20)
		out = le.AppendUint32(out, next)
		out = le.AppendUint32(out, w.name(name))
		out = le.AppendUint32(out, 0)
	}
	return out
}

// property writes an NT_GNU_PROPERTY_TYPE_0 note with GNU_PROPERTY_X86_ISA_1_NEEDED.
func property(levels uint32) []byte {
	le := binary.LittleEndian
	var out []byte
	for _, v := range []uint32{4, 16, 5} {
		out = le.AppendUint32(out, v)
	}
	out = append(out, "GNU\x00"...)
	for _, v := range []uint32{0xc0008002, 4, levels, 0} {
		out = le.AppendUint32(out, v)
	}
	return out
}

func encode(v any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
		panic(err) // fixed-size data into memory cannot fail
	}
	return b.Bytes()
}
