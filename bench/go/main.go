// The benchmarks of the scheduler as a Go program: what `cargo run -- bench --versus go` compares with, one JSON object a line.
//
// It is PID 1 of a Linux guest under QEMU, or an ordinary process: `go run . -run yield2,chan_pingpong`. Each benchmark is
// defined in docs/performance.md; the crate `bench` runs the same operations the same number of times.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

var (
	flagRun   = flag.String("run", "all", "benchmarks or groups, separated by commas, or all")
	flagReps  = flag.Int("reps", 3, "measured repetitions; one that is not measured comes first")
	flagScale = flag.Float64("scale", 1, "a factor for all counts")
	flagEnv   = flag.String("env", "go-native", "a label for every line")
)

// bench is one benchmark; it prints a line for each number of Ps.
type bench struct {
	name, group string
	run         func()
}

var benches []bench

// reg is called by the init function of each file.
func reg(name, group string, run func()) { benches = append(benches, bench{name, group, run}) }

func main() {
	if os.Getpid() == 1 {
		guest()
		return
	}
	flag.Parse()
	runBenches()
}

// runBenches runs what -run names.
func runBenches() {
	emit(result{Bench: "info", Procs: runtime.GOMAXPROCS(0), Extra: map[string]any{
		"go": runtime.Version(), "numcpu": runtime.NumCPU(), "linux": readTrim("/proc/sys/kernel/osrelease"),
		"clock": readTrim("/sys/devices/system/clocksource/clocksource0/current_clocksource")}})
	want := map[string]bool{}
	for _, s := range strings.Split(*flagRun, ",") {
		want[s] = true
	}
	for _, b := range benches {
		if want["all"] || want[b.name] || want[b.group] {
			b.run()
			runtime.GC()
		}
	}
}

// scaled is a count, by -scale, and at least 1.
func scaled(n int) int { return max(1, int(float64(n)**flagScale)) }

// readTrim is a file's text, empty if it cannot be read.
func readTrim(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// check ends the program if a benchmark has computed something wrong.
func check(name string, right bool) {
	if !right {
		panic(fmt.Sprintf("%s: wrong result", name))
	}
}
