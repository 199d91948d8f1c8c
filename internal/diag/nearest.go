package diag

import "strings"

// Nearest returns the element of all that the user probably meant by wrote, or the zero value.
// keys returns the names of an element. Of several nearest elements, Nearest returns the first.
func Nearest[T any](wrote string, all []T, keys func(T) []string) (best T) {
	wrote = folded(wrote)
	if wrote == "" || len(wrote) > maxShown {
		return best
	}
	least := max(1, len(wrote)/3) + 1
	for _, one := range all {
		for _, key := range keys(one) {
			if d := distance(wrote, folded(key)); d < least && d < len(key) {
				best, least = one, d
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
