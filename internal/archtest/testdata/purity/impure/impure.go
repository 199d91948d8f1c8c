// Package impure is not in the table of pure packages.
package impure

import _ "os"

func f() { go f() }
