package main

import (
	"encoding/json"
	"os"
	"runtime"
	"sort"
	"strconv"
	"time"
)

type params map[string]any

// result is a line. Min, Med and Max are those of the repetitions, in Unit.
type result struct {
	Bench  string         `json:"bench"`
	Env    string         `json:"env"`
	Procs  int            `json:"procs"`
	Unit   string         `json:"unit"`
	Ops    int            `json:"ops"`
	Reps   int            `json:"reps"`
	Min    float64        `json:"min"`
	Med    float64        `json:"med"`
	Max    float64        `json:"max"`
	Params params         `json:"params,omitempty"`
	Extra  map[string]any `json:"extra,omitempty"`
}

func emit(r result) {
	r.Env = *flagEnv
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n'))
}

// round keeps six digits.
func round(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	return v
}

func minMedMax(xs []float64) (float64, float64, float64) {
	s := append([]float64(nil), xs...)
	sort.Float64s(s)
	m := (s[(len(s)-1)/2] + s[len(s)/2]) / 2
	return round(s[0]), round(m), round(s[len(s)-1])
}

// measure runs f once to warm up, then -reps times; f returns the time and the number of operations.
func measure(name string, procs int, p params, f func() (time.Duration, int)) {
	old := runtime.GOMAXPROCS(procs)
	defer runtime.GOMAXPROCS(old)
	f()
	var xs []float64
	ops := 0
	for range *flagReps {
		runtime.GC()
		d, n := f()
		ops = n
		xs = append(xs, float64(d.Nanoseconds())/float64(n))
	}
	mn, md, mx := minMedMax(xs)
	emit(result{Bench: name, Procs: procs, Unit: "ns/op", Ops: ops, Reps: *flagReps, Min: mn, Med: md, Max: mx, Params: p})
}

// percentile of what is sorted.
func percentile(sorted []int64, q float64) int64 { return sorted[int(q*float64(len(sorted)-1)+0.5)] }

// emitDist prints a distribution of samples in ns: Min, Med and Max are theirs, percentiles are in Extra.
func emitDist(name string, procs int, samples []int64, p params, extra map[string]any) {
	sort.Slice(samples, func(i, j int) bool { return samples[i] < samples[j] })
	var sum float64
	for _, s := range samples {
		sum += float64(s)
	}
	if extra == nil {
		extra = map[string]any{}
	}
	extra["p50"] = percentile(samples, 0.50)
	extra["p90"] = percentile(samples, 0.90)
	extra["p99"] = percentile(samples, 0.99)
	extra["p999"] = percentile(samples, 0.999)
	extra["mean"] = round(sum / float64(len(samples)))
	emit(result{Bench: name, Procs: procs, Unit: "ns", Ops: len(samples), Reps: 1, Min: float64(samples[0]),
		Med: float64(percentile(samples, 0.5)), Max: float64(samples[len(samples)-1]), Params: p, Extra: extra})
}

// procList is 1, and the powers of two up to the number of CPUs, and that number.
func procList() []int {
	n := runtime.NumCPU()
	out := []int{}
	for p := 1; p < n; p *= 2 {
		out = append(out, p)
	}
	return append(out, n)
}
