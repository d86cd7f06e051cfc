package abi

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Bounds on what one ELF file can make us read and keep. Real files stay far below.
const (
	maxProgramHeaders = 64 << 10 / 56 // as the kernel
	maxDynamicEntries = 1 << 14
	maxStringLength   = 4096      // PATH_MAX, which bounds every name that a loader can use
	maxStringBytes    = 256 << 10 // of all strings of a file
	maxNoteBytes      = 64 << 10
)

// malformedError says why bytes are no well-formed ELF file.
type malformedError string

func (e malformedError) Error() string { return string(e) }

func malformed(format string, args ...any) error { return malformedError(fmt.Sprintf(format, args...)) }

// readELF reads what the kernel and a dynamic loader read: program headers and what they lead to.
// Sections are for linkers and debuggers; a stripped file need not have any, and debug/elf finds
// dynamic entries nowhere else. The result is nil for object files and core dumps, and not nil with a
// malformedError.
func readELF(r io.ReaderAt, size int64) (*ELF, error) {
	f := &elfFile{r: r, size: size, budget: maxStringBytes}
	ident, err := f.bytes(0, elf.EI_NIDENT+4, "the ELF header")
	if err != nil {
		return &ELF{}, err
	}
	class, data := elf.Class(ident[elf.EI_CLASS]), elf.Data(ident[elf.EI_DATA])
	var order binary.ByteOrder = binary.LittleEndian
	if data == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	kind, machine := elf.Type(order.Uint16(ident[16:])), elf.Machine(order.Uint16(ident[18:]))
	if kind != elf.ET_EXEC && kind != elf.ET_DYN {
		return nil, nil
	}
	f.facts.Executable = kind == elf.ET_EXEC
	f.facts.Machine = machineName(class, data, machine)
	if class != elf.ELFCLASS64 || data != elf.ELFDATA2LSB {
		return &f.facts, nil
	}
	err = f.read()
	return &f.facts, err
}

func machineName(class elf.Class, data elf.Data, machine elf.Machine) string {
	if class == elf.ELFCLASS64 && data == elf.ELFDATA2LSB {
		switch machine {
		case elf.EM_X86_64:
			return "amd64"
		case elf.EM_AARCH64:
			return "arm64"
		}
	}
	bits := map[elf.Class]string{elf.ELFCLASS32: " 32-bit", elf.ELFCLASS64: " 64-bit"}[class]
	return machine.String() + bits + map[elf.Data]string{elf.ELFDATA2MSB: " big-endian"}[data]
}

// elfFile reads one 64-bit little-endian file.
type elfFile struct {
	r      io.ReaderAt
	size   int64
	loads  []elf.Prog64 // PT_LOAD
	budget int          // bytes of strings that may still be read

	// strings is where the dynamic string table lies in the file.
	strings struct{ offset, size uint64 }
	facts   ELF
}

func (f *elfFile) read() error {
	programs, err := f.programs()
	if err != nil {
		return err
	}
	for _, p := range programs {
		if elf.ProgType(p.Type) == elf.PT_LOAD {
			f.loads = append(f.loads, p)
		}
	}
	var properties bool
	for _, p := range programs {
		switch elf.ProgType(p.Type) {
		case elf.PT_INTERP:
			err = f.readLoader(p)
		case elf.PT_DYNAMIC:
			err = f.readDynamic(p)
		case elf.PT_GNU_PROPERTY:
			properties = true
			err = f.readNotes(p)
		}
		if err != nil {
			return err
		}
	}
	for _, p := range programs {
		// Linkers before binutils 2.32 wrote the properties without a program header of their own.
		if elf.ProgType(p.Type) == elf.PT_NOTE && !properties {
			if err := f.readNotes(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *elfFile) programs() ([]elf.Prog64, error) {
	raw, err := f.bytes(0, uint64(binary.Size(elf.Header64{})), "the ELF header")
	if err != nil {
		return nil, err
	}
	var header elf.Header64
	if _, err := binary.Decode(raw, binary.LittleEndian, &header); err != nil {
		return nil, err
	}
	entry := binary.Size(elf.Prog64{})
	if header.Phnum > 0 && int(header.Phentsize) != entry {
		return nil, malformed("a program header has %d bytes instead of %d", header.Phentsize, entry)
	}
	if header.Phnum > maxProgramHeaders {
		return nil, malformed("there are %d program headers, more than %d", header.Phnum, maxProgramHeaders)
	}
	raw, err = f.bytes(header.Phoff, uint64(header.Phnum)*uint64(entry), "the program headers")
	if err != nil {
		return nil, err
	}
	programs := make([]elf.Prog64, header.Phnum)
	_, err = binary.Decode(raw, binary.LittleEndian, programs)
	return programs, err
}

func (f *elfFile) readLoader(p elf.Prog64) error {
	if p.Filesz == 0 { // a file of debug information only
		return nil
	}
	if p.Filesz > maxStringLength {
		return malformed("the loader's name has %d bytes", p.Filesz)
	}
	raw, err := f.bytes(p.Off, p.Filesz, "the loader's name")
	if err != nil {
		return err
	}
	name, _, terminated := bytes.Cut(raw, []byte{0})
	if !terminated {
		return malformed("the loader's name has no end")
	}
	f.facts.Loader, f.facts.Executable = string(name), true
	return nil
}

// dynamic is what counts of the dynamic section; the values are string offsets and addresses.
type dynamic struct {
	needed, rpath, runpath, soname []uint64

	strtab, strsz                       uint64
	verneed, verneedNum, verdef, defNum uint64
}

func (f *elfFile) readDynamic(p elf.Prog64) error {
	const entry = 16
	if p.Filesz/entry > maxDynamicEntries {
		return malformed("the dynamic section has %d entries", p.Filesz/entry)
	}
	raw, err := f.bytes(p.Off, p.Filesz/entry*entry, "the dynamic section")
	if err != nil {
		return err
	}
	var d dynamic
	for ; len(raw) > 0; raw = raw[entry:] {
		tag, value := elf.DynTag(binary.LittleEndian.Uint64(raw)), binary.LittleEndian.Uint64(raw[8:])
		if tag == elf.DT_NULL {
			break
		}
		switch tag {
		case elf.DT_NEEDED:
			d.needed = append(d.needed, value)
		case elf.DT_RPATH:
			d.rpath = append(d.rpath, value)
		case elf.DT_RUNPATH:
			d.runpath = append(d.runpath, value)
		case elf.DT_SONAME:
			d.soname = append(d.soname, value)
		case elf.DT_STRTAB:
			d.strtab = value
		case elf.DT_STRSZ:
			d.strsz = value
		case elf.DT_VERNEED:
			d.verneed = value
		case elf.DT_VERNEEDNUM:
			d.verneedNum = value
		case elf.DT_VERDEF:
			d.verdef = value
		case elf.DT_VERDEFNUM:
			d.defNum = value
		case elf.DT_FLAGS_1:
			f.facts.Executable = f.facts.Executable || elf.DynFlag1(value)&elf.DF_1_PIE != 0
		}
	}
	return f.resolveDynamic(d)
}

func (f *elfFile) resolveDynamic(d dynamic) error {
	if d.strtab != 0 {
		offset, err := f.offset(d.strtab, "the dynamic string table")
		if err != nil {
			return err
		}
		f.strings.offset, f.strings.size = offset, d.strsz
	}
	for _, list := range []struct {
		offsets []uint64
		keep    func(string)
	}{
		{d.needed, func(s string) { f.facts.Needed = append(f.facts.Needed, s) }},
		{d.rpath, func(s string) { f.facts.RPath = append(f.facts.RPath, strings.Split(s, ":")...) }},
		{d.runpath, func(s string) { f.facts.RunPath = append(f.facts.RunPath, strings.Split(s, ":")...) }},
		{d.soname, func(s string) { f.facts.Soname = s }},
	} {
		for _, offset := range list.offsets {
			s, err := f.string(offset)
			if err != nil {
				return err
			}
			list.keep(s)
		}
	}
	if err := f.readVersionsNeeded(d.verneed, d.verneedNum); err != nil {
		return err
	}
	return f.readVersionsDefined(d.verdef, d.defNum)
}

// readVersionsNeeded walks the Verneed records: each names a library and chains its Vernaux records.
func (f *elfFile) readVersionsNeeded(address, count uint64) error {
	const what, record = "the needed symbol versions", 16
	if address == 0 {
		return nil
	}
	at, err := f.offset(address, what)
	if err != nil {
		return err
	}
	for range count {
		need, err := f.bytes(at, record, what)
		if err != nil {
			return err
		}
		library, err := f.string(uint64(binary.LittleEndian.Uint32(need[4:])))
		if err != nil {
			return err
		}
		aux := at + uint64(binary.LittleEndian.Uint32(need[8:]))
		for range binary.LittleEndian.Uint16(need[2:]) {
			version, err := f.bytes(aux, record, what)
			if err != nil {
				return err
			}
			name, err := f.string(uint64(binary.LittleEndian.Uint32(version[8:])))
			if err != nil {
				return err
			}
			if elf.DynamicVersionFlag(binary.LittleEndian.Uint16(version[4:]))&elf.VER_FLG_WEAK == 0 {
				if f.facts.Versions == nil {
					f.facts.Versions = map[string][]string{}
				}
				f.facts.Versions[library] = append(f.facts.Versions[library], name)
			}
			next := binary.LittleEndian.Uint32(version[12:])
			if next == 0 {
				break
			}
			aux += uint64(next)
		}
		next := binary.LittleEndian.Uint32(need[12:])
		if next == 0 {
			break
		}
		at += uint64(next)
	}
	return nil
}

// readVersionsDefined walks the Verdef records; the first Verdaux of each holds the version's name.
func (f *elfFile) readVersionsDefined(address, count uint64) error {
	const what, record, auxRecord = "the defined symbol versions", 20, 8
	if address == 0 {
		return nil
	}
	at, err := f.offset(address, what)
	if err != nil {
		return err
	}
	for range count {
		def, err := f.bytes(at, record, what)
		if err != nil {
			return err
		}
		aux, err := f.bytes(at+uint64(binary.LittleEndian.Uint32(def[12:])), auxRecord, what)
		if err != nil {
			return err
		}
		name, err := f.string(uint64(binary.LittleEndian.Uint32(aux)))
		if err != nil {
			return err
		}
		// The base definition is the name of the file itself.
		if elf.DynamicVersionFlag(binary.LittleEndian.Uint16(def[2:]))&elf.VER_FLG_BASE == 0 {
			f.facts.Defines = append(f.facts.Defines, name)
		}
		next := binary.LittleEndian.Uint32(def[16:])
		if next == 0 {
			break
		}
		at += uint64(next)
	}
	return nil
}

// Of <elf.h>: the note of program properties, and the property that holds the needed x86 ISA levels
// as bits.
const (
	noteGNUProperty   = 5
	propertyX86Needed = 0xc0008002
)

func (f *elfFile) readNotes(p elf.Prog64) error {
	if f.facts.Machine != "amd64" || p.Filesz == 0 {
		return nil
	}
	if p.Filesz > maxNoteBytes {
		return malformed("the notes have %d bytes", p.Filesz)
	}
	raw, err := f.bytes(p.Off, p.Filesz, "the notes")
	if err != nil {
		return err
	}
	align := uint64(4)
	if p.Align == 8 {
		align = 8
	}
	for len(raw) >= 12 {
		nameSize, descSize := uint64(binary.LittleEndian.Uint32(raw)), uint64(binary.LittleEndian.Uint32(raw[4:]))
		kind := binary.LittleEndian.Uint32(raw[8:])
		start := roundUp(12+nameSize, align)
		end := roundUp(start+descSize, align)
		if start+descSize > uint64(len(raw)) {
			return malformed("a note ends behind its segment")
		}
		if kind == noteGNUProperty && string(raw[12:12+nameSize]) == "GNU\x00" {
			f.readProperties(raw[start : start+descSize])
		}
		raw = raw[min(end, uint64(len(raw))):]
	}
	return nil
}

// readProperties reads the list of an NT_GNU_PROPERTY_TYPE_0 note of a 64-bit file.
func (f *elfFile) readProperties(raw []byte) {
	for len(raw) >= 8 {
		kind, size := binary.LittleEndian.Uint32(raw), uint64(binary.LittleEndian.Uint32(raw[4:]))
		if 8+size > uint64(len(raw)) {
			return
		}
		if kind == propertyX86Needed && size == 4 {
			f.facts.ISANeeded = isaLevelName(binary.LittleEndian.Uint32(raw[8:]))
		}
		raw = raw[min(roundUp(8+size, 8), uint64(len(raw))):]
	}
}

func roundUp(n, align uint64) uint64 { return (n + align - 1) / align * align }

// offset translates an address of the running program into a place in the file.
func (f *elfFile) offset(address uint64, what string) (uint64, error) {
	for _, p := range f.loads {
		if address >= p.Vaddr && address-p.Vaddr < p.Filesz {
			return p.Off + (address - p.Vaddr), nil
		}
	}
	return 0, malformed("no segment holds %s", what)
}

func (f *elfFile) bytes(offset, length uint64, what string) ([]byte, error) {
	if offset > uint64(f.size) || length > uint64(f.size)-offset {
		return nil, malformed("the file's %d bytes end before %s", f.size, what)
	}
	raw := make([]byte, length)
	if n, err := f.r.ReadAt(raw, int64(offset)); n < len(raw) {
		return nil, err
	}
	return raw, nil
}

// string reads a string of the dynamic string table.
func (f *elfFile) string(offset uint64) (string, error) {
	const what = "a string"
	if offset >= f.strings.size {
		return "", malformed("a string starts behind the dynamic string table")
	}
	start := f.strings.offset + offset
	if start < offset || start >= uint64(f.size) {
		return "", malformed("a string starts behind the file's %d bytes", f.size)
	}
	limit := min(f.strings.size-offset, uint64(f.size)-start, maxStringLength)
	var name []byte
	for chunk := uint64(64); uint64(len(name)) < limit; chunk *= 2 {
		raw, err := f.bytes(start+uint64(len(name)), min(chunk, limit-uint64(len(name))), what)
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(raw, 0); end >= 0 {
			name = append(name, raw[:end]...)
			// An empty string costs too, so that endless records of them come to an end.
			if f.budget -= len(name) + 8; f.budget < 0 {
				return "", malformed("the dynamic section's strings have more than %d bytes", maxStringBytes)
			}
			return string(name), nil
		}
		name = append(name, raw...)
	}
	return "", malformed("a string of the dynamic section has no end")
}
