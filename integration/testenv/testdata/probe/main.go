// Command probe runs as the process of an ExecOp and shows what it finds there: as `probe report FILE` it writes its
// network interfaces to FILE, as `probe block WORD` it prints "blocking" and never ends on its own.
package main

import (
	"fmt"
	"net"
	"os"
	"strings"
)

func main() {
	switch os.Args[1] {
	case "report":
		interfaces, err := net.Interfaces()
		if err != nil {
			fail(err)
		}
		var names []string
		for _, i := range interfaces {
			names = append(names, i.Name)
		}
		if err := os.WriteFile(os.Args[2], []byte(strings.Join(names, ",")), 0o644); err != nil {
			fail(err)
		}
	case "block":
		fmt.Println("blocking")
		// A listening socket keeps the runtime from calling a mere select{} a deadlock.
		l, err := net.Listen("unix", "@probe")
		if err != nil {
			fail(err)
		}
		_, err = l.Accept()
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
