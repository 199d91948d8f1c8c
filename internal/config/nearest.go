package config

import "strings"

// nearest returns the name that somebody probably meant who wrote another one, or
// nothing. keys are what may be written for each name; the first of the nearest counts.
func nearest(wrote string, names []string, keys func(name string) []string) string {
	wrote = folded(wrote)
	if wrote == "" || len(wrote) > maxShown {
		return ""
	}
	best, least := "", max(1, len(wrote)/3)+1
	for _, name := range names {
		for _, key := range keys(name) {
			if d := distance(wrote, folded(key)); d < least && d < len(key) {
				best, least = name, d
			}
		}
	}
	return best
}

// folded is a name without what is easily taken for something else.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// distance is how many characters are to be inserted, deleted, replaced, or swapped with
// their neighbours, to make b of a (Damerau 1964, no part edited twice).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// meant returns the field that somebody probably meant who wrote a name in a section.
// Within the section the last part of a name will do, and elsewhere too if it fits well:
// a field at the wrong place is a field.
func (t *Table) meant(section, key string) string {
	var names []string
	for _, inside := range []bool{true, false} {
		for _, f := range t.fields {
			if (f.section() == section) == inside {
				names = append(names, f.Name)
			}
		}
	}
	return nearest(key, names, func(name string) []string {
		f := t.byName[name]
		return []string{strings.TrimPrefix(name, f.section()), name, f.Alias}
	})
}
