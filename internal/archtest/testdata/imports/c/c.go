package c

import (
	_ "text/template" // want: c may not import text/template

	_ "example.com/x/y" // want: c may not import example.com/x/y
)
