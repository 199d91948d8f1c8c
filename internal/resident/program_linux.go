package resident

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapProgram unmaps the unchanged pages of the program. They stay in the page cache of the system. An error changes
// nothing: the pages stay mapped.
func unmapProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	mappings, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, r := range unchanged(string(mappings), program) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, r.start, r.end-r.start, unix.MADV_DONTNEED)
	}
}

// memoryRange is the memory from start until before end.
type memoryRange struct{ start, end uintptr }

// unchanged returns the mappings of a file that cannot be written and have no changed page, in memory or swapped out.
// It reads the text of /proc/PID/smaps. A changed page is not in the file: the loader changed it and then made it
// read-only, or a debugger has put a breakpoint there.
func unchanged(smaps, file string) (found []memoryRange) {
	var r memoryRange
	candidate := false
	for line := range strings.Lines(smaps) {
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, " ")
		if from, to, isMapping := strings.Cut(field, "-"); isMapping { // "START-END PERMISSIONS OFFSET DEVICE INODE FILE"
			start, startErr := strconv.ParseUint(from, 16, strconv.IntSize)
			end, endErr := strconv.ParseUint(to, 16, strconv.IntSize)
			r = memoryRange{uintptr(start), uintptr(end)}
			candidate = startErr == nil && endErr == nil && strings.HasPrefix(value, "r-") && strings.HasSuffix(line, " "+file)
			continue
		}
		isZero := strings.TrimSpace(value) == "0 kB"
		switch field {
		case "Anonymous:":
			candidate = candidate && isZero
		case "Swap:": // follows Anonymous
			if candidate && isZero {
				found = append(found, r)
			}
		}
	}
	return found
}
