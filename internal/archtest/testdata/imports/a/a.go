package a

import (
	_ "net/http"

	_ "example.com/x" // want: a may not import example.com/x
)
