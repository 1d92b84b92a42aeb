package main

// PID 1 of the guest. Linux hands words of its command line that it does not know to it as environment:
// bench=-run=yield2|-reps=3, arguments separated by '|'.

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// guest runs the benchmarks and powers the machine off. It says FIRST_GOROUTINE as soon as the main goroutine runs, and ENDED
// when all went well.
func guest() {
	fmt.Println("FIRST_GOROUTINE")
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}} {
		os.MkdirAll(m[1], 0o755)
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			fmt.Println("WARNING mount", m[1], err)
		}
	}
	args := strings.Split(os.Getenv("bench"), "|")
	if err := flag.CommandLine.Parse(args); err != nil {
		fmt.Println("WARNING arguments", err)
	} else {
		runBenches()
		fmt.Println("ENDED")
	}
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}
