// Package testkit has helpers for the tests of several packages: the flag -long, requirements of a test, virtual time,
// and the options of an algorithm. Only tests import it.
//
//	func TestSeeds(t *testing.T) {
//		for seed := range testkit.Rounds(10, 1000) { // 1000 with -long
//			check(t, seed)
//		}
//	}
package testkit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

var long = flag.Bool("long", false, "also run what takes minutes: walks, chaos runs, searches and mutants in full")

// Long reports whether the tests were started with -long. go test accepts that flag for
// packages with tests that import this one:
//
//	go test ./sim -long
func Long() bool { return *long }

// Rounds is how often a test repeats itself: short by default, and full with -long.
func Rounds(short, full int) int {
	if Long() {
		return full
	}
	return short
}

// AtOnce has that many parallel tests run at a time, where -parallel does not say how many:
// tests that wait leave the processors to others. It is for TestMain, before m.Run.
func AtOnce(tests int) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		flag.Set("test.parallel", strconv.Itoa(tests))
	}
}

// CollectLess has the garbage collector wait until the heap is five times what it left, where GOGC
// does not say when: on a heap of a few MB it takes a third of the time of tests that compute.
// Benchmarks are measured with the collector as it is. It is for TestMain, before m.Run.
func CollectLess() {
	flag.Parse()
	if os.Getenv("GOGC") == "" && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
}

// OnlyLong skips the test unless -long is set.
func OnlyLong(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("takes long; run it with -long")
	}
}

// Processes skips a test of real processes under the race detector unless -long is set. Such a test
// takes several times longer there, and what it checks is seldom a race within one process.
func Processes(t testing.TB) {
	t.Helper()
	if UnderRace && !Long() {
		t.Skip("starts processes; run it without the race detector or with -long")
	}
}

// Scheduled is how long the threads of a process have run, and how long they were ready and had
// to wait for a processor: what a busy machine takes from them, and no fault of theirs. Both
// are zero where the system does not say. Linux does.
func Scheduled(pid int) (ran, waited time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, thread := range threads {
		var r, w time.Duration
		text, _ := os.ReadFile(thread) // of a thread that has ended just now there is none
		if n, _ := fmt.Sscan(string(text), &r, &w); n == 2 {
			ran, waited = ran+r, waited+w
		}
	}
	return ran, waited
}

// Need skips the test if a tool or a right is missing; want names it, and how to get it. With CI=true
// the test fails instead, because everything is installed there. A test that calls Need calls OnlyLong
// first, so the short tests need nothing but Go.
func Need(t testing.TB, there bool, want string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs %s, and with CI=true nothing may be left out", want)
	default:
		t.Skipf("needs %s", want)
	}
}

// Example returns the example of that name in a document: the lines with an indent after "<!-- example: NAME -->".
// Each is a key and, after spaces, a value.
func Example(t testing.TB, document, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "<!-- example: "+name+" -->\n")
	if !found {
		t.Fatalf("%s has no example %q", document, name)
	}
	fields := make(map[string]string)
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "    ") {
			break
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		fields[key] = strings.TrimSpace(value)
	}
	return fields
}
