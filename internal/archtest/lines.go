package archtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Room is some folders whose lines of Go, tests aside, are counted together.
type Room struct {
	Name    string
	Folders []string // "x/..." is x and all below it
	Except  []string
	Ceiling int // 0 for none
	Lines   int // counted
}

var (
	roomRow = regexp.MustCompile(`^\| \*\*(.+?)\*\* \| (.*?) \| (.*?) \|`)
	folder  = regexp.MustCompile("`([^`]+)`")
)

// Rooms reads the table of rooms in a page: rows of a name in bold, the folders in
// backticks, of which those after "but not" are left out, and the ceiling.
func Rooms(page string) ([]Room, error) {
	var rooms []Room
	for line := range strings.Lines(page) {
		row := roomRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		counted, except, _ := strings.Cut(row[2], "but not")
		room := Room{Name: row[1], Folders: quoted(counted), Except: quoted(except)}
		if row[3] != "none" {
			n, err := strconv.Atoi(strings.ReplaceAll(row[3], ",", ""))
			if err != nil || n < 1 {
				return nil, fmt.Errorf("archtest: the ceiling of %s is %q, want a number or none", room.Name, row[3])
			}
			room.Ceiling = n
		}
		if len(room.Folders) == 0 {
			return nil, fmt.Errorf("archtest: the room %s counts no folder, want some in backticks", room.Name)
		}
		rooms = append(rooms, room)
	}
	if len(rooms) == 0 {
		return nil, fmt.Errorf("archtest: there is no table of rooms, want rows as | **name** | `folder` | 1,000 |")
	}
	return rooms, nil
}

func quoted(text string) (all []string) {
	for _, match := range folder.FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

func inRoom(patterns []string, folder string) bool {
	return matchesAny(patterns, folder) || matchesAny(patterns, folder+"/...")
}

// CountLines adds the lines of each file, named from the root of the module, to its room.
// It returns what is wrong: a file in no room or in two, a folder without files, and a room
// above its ceiling.
func CountLines(rooms []Room, lines map[string]int) (wrong []string) {
	unused := make(map[string]bool)
	for _, room := range rooms {
		for _, f := range room.Folders {
			unused[f] = true
		}
	}
	strays := make(map[string]bool)
	for file, count := range lines {
		at := filepath.ToSlash(filepath.Dir(file))
		found := 0
		for i := range rooms {
			room := &rooms[i]
			if !inRoom(room.Folders, at) || inRoom(room.Except, at) {
				continue
			}
			found++
			room.Lines += count
			for _, f := range room.Folders {
				if inRoom([]string{f}, at) {
					delete(unused, f)
				}
			}
		}
		if found != 1 {
			strays[fmt.Sprintf("%s is in %d rooms, want it in one", at, found)] = true
		}
	}
	for stray := range strays {
		wrong = append(wrong, stray)
	}
	for f := range unused {
		wrong = append(wrong, f+" is in the table of rooms, and has no Go")
	}
	for _, room := range rooms {
		if room.Ceiling > 0 && room.Lines > room.Ceiling {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines, its ceiling is %d", room.Name, room.Lines, room.Ceiling))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// Lines counts the lines of the Go files of the module in root that are known to git, tests
// and test data aside.
func Lines(root string) (map[string]int, error) {
	out, err := command(root, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go")
	if err != nil {
		return nil, err
	}
	lines := make(map[string]int)
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		if strings.HasSuffix(file, "_test.go") || slices.Contains(strings.Split(file, "/"), "testdata") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			return nil, err
		}
		lines[file] = bytes.Count(text, []byte("\n"))
	}
	return lines, nil
}
