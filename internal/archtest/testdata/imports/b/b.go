package b

import (
	_ "example.com/x"

	_ "github.com/elect-go/elect/a"
	_ "github.com/elect-go/elect/c" // want: b may not import c
)
