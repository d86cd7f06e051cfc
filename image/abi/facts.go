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

// ELF is what the dynamic section, the program headers and the notes of an ELF file state.
type ELF struct {
	// Machine is the OCI architecture that the file is for ("amd64", "arm64"), or ELF's own name for
	// another one.
	Machine string `json:"machine"`
	// Executable tells whether the file has an entry point, as opposed to a shared object.
	Executable bool   `json:"executable,omitempty"`
	Loader     string `json:"loader,omitempty"` // PT_INTERP
	Soname     string `json:"soname,omitempty"`
	// Needed, RPath and RunPath are the DT_NEEDED, DT_RPATH and DT_RUNPATH entries, paths split at
	// colons and otherwise as written.
	Needed  []string `json:"needed,omitempty"`
	RPath   []string `json:"rpath,omitempty"`
	RunPath []string `json:"runPath,omitempty"`
	// Versions are the symbol versions that are needed, by library (.gnu.version_r); Defines are those
	// that the file offers (.gnu.version_d).
	Versions map[string][]string `json:"versions,omitempty"`
	Defines  []string            `json:"defines,omitempty"`
	// ISANeeded is the x86 ISA level of .note.gnu.property ("x86-64-v2"), empty if the file states none.
	ISANeeded string `json:"isaNeeded,omitempty"`
}
