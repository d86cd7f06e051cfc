package problem

// ABIVersion holds a declaration against the files; the other rules of native files are among those of
// the image.
var ABIVersion = rule("abi-version", Build, "ASI-ABI-001", "9.4", "A native file needs no newer glibc than the declared abiVersion.")
