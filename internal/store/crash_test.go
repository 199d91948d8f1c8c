package store_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

// The test binary is also the second process of a test. If childRole is set, it plays this role in the folder childDir,
// and runs no tests.
const (
	childRole = "STORE_TEST_CHILD"
	childDir  = "STORE_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childRole) {
	case "":
		testkit.CollectLess()
		os.Exit(m.Run())
	case "open":
		_, err := store.Open(os.Getenv(childDir))
		fmt.Println(err)
	case "save":
		saveUntilKilled(os.Getenv(childDir))
	}
}

// saveUntilKilled continues the count in the store, and reports each number after its save.
func saveUntilKilled(dir string) {
	s, err := store.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := s.Load()
	count := counted(state)
	for err == nil {
		count++
		if err = s.Save(counting(count)); err == nil {
			fmt.Println(count)
		}
	}
	fmt.Println(err)
}

// counting returns the state of a count. The sizes of states differ.
func counting(count int) []byte {
	return []byte(strings.Repeat(strconv.Itoa(count)+" ", 1+count%2000))
}

func counted(state []byte) int {
	word, _, _ := strings.Cut(string(state), " ")
	count, _ := strconv.Atoi(word)
	return count
}

// startChild starts the second process and returns what it prints.
func startChild(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe)
	child.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // if the test ends early
		if child.ProcessState == nil {
			child.Process.Kill()
			child.Wait()
		}
	})
	return child, bufio.NewReader(out)
}

func TestKilledProcessLosesNoFinishedSave(t *testing.T) {
	dir := t.TempDir()
	saved := 0
	for _, saves := range []int{1, 2, 17, 60, 5, 150, 33, 90} {
		child, out := startChild(t, "save", dir)
		read := func(line string) {
			n, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil || n != saved+1 {
				t.Fatalf("the child reports %q after %d", line, saved)
			}
			saved = n
		}
		for range saves {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			read(line)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(rest)) {
			read(line)
		}
		child.Wait() // it was killed

		s := open(t, dir)
		state, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		count := counted(state)
		if count != saved && count != saved+1 {
			t.Fatalf("the store holds %d, want %d, which was reported last, or the next", count, saved)
		}
		if want := counting(count); string(state) != string(want) {
			t.Fatalf("the state is not of one save: %.40q, want %.40q", state, want)
		}
		saved = count
		closeStore(t, s)
	}
}

func TestSecondProcessIsRejected(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	child, out := startChild(t, "open", dir)
	said, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	want := "store: " + filepath.Join(dir, store.FileName) + ": in use by another process: one data directory serves one node\n"
	if string(said) != want {
		t.Errorf("the second process said %q, want %q", said, want)
	}
	closeStore(t, s)

	child, out = startChild(t, "save", dir)
	if _, err := out.ReadString('\n'); err != nil { // the child holds the file from now on
		t.Fatal(err)
	}
	requireOpenError(t, dir, store.ErrLocked)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	child.Wait() // it was killed
	if state, err := open(t, dir).Load(); err != nil || counted(state) == 0 {
		t.Errorf("after the other process died: %.40q, %v", state, err)
	}
}
