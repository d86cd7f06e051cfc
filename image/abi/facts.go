// Package abi reads what native files need of the system that they run on, and checks that a
// filesystem offers it.
package abi

// Facts is what one ELF file or script needs. Exactly one of ELF and Interpreter is set.
type Facts struct {
	ELF *ELF `json:"elf,omitempty"`
	// Interpreter holds a script's "#!" line, split as the kernel does: the interpreter and at most one
	// argument.
	Interpreter []string `json:"interpreter,omitempty"`
}

// ELF is what the dynamic section, the program headers and the notes of an ELF file state. It holds
// executables and shared objects; relocatable objects and core dumps are data to us.
type ELF struct {
	// Machine is the OCI architecture that the file is for ("amd64", "arm64"), or ELF's own name for
	// another one. Of a file for another machine only Machine and Executable are read.
	Machine string `json:"machine"`
	// Executable tells whether the file starts a process, as opposed to a shared object.
	Executable bool   `json:"executable,omitempty"`
	Loader     string `json:"loader,omitempty"` // PT_INTERP
	Soname     string `json:"soname,omitempty"`
	// Needed, RPath and RunPath are the DT_NEEDED, DT_RPATH and DT_RUNPATH entries, paths split at
	// colons and otherwise as written.
	Needed  []string `json:"needed,omitempty"`
	RPath   []string `json:"rpath,omitempty"`
	RunPath []string `json:"runPath,omitempty"`
	// Versions are the symbol versions that are needed, by library (.gnu.version_r), without those that
	// the file can do without; Defines are those that the file offers (.gnu.version_d).
	Versions map[string][]string `json:"versions,omitempty"`
	Defines  []string            `json:"defines,omitempty"`
	// ISANeeded is the x86 ISA level of .note.gnu.property ("x86-64-v2"), empty if the file states none.
	ISANeeded string `json:"isaNeeded,omitempty"`
	// Malformed says why the file cannot be what its magic number claims; the other facts are then
	// incomplete. It is no error of reading: filesystems hold broken ELF files as test data.
	Malformed string `json:"malformed,omitempty"`
}

// Weight is roughly how many bytes the facts take in memory. A few kilobytes of an ELF file can state a hundred
// times as much, so whoever keeps the facts of many files adds up what they weigh.
func (f *Facts) Weight() int64 {
	weight := int64(64)
	add := func(texts ...string) {
		for _, text := range texts {
			weight += int64(len(text)) + 32
		}
	}
	add(f.Interpreter...)
	if f.ELF == nil {
		return weight
	}
	add(f.ELF.Loader, f.ELF.Soname, f.ELF.Machine, f.ELF.ISANeeded, f.ELF.Malformed)
	for _, list := range [][]string{f.ELF.Needed, f.ELF.RPath, f.ELF.RunPath, f.ELF.Defines} {
		add(list...)
	}
	for library, versions := range f.ELF.Versions {
		add(library)
		add(versions...)
	}
	return weight
}
