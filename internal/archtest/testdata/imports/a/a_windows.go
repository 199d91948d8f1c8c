package a

import _ "github.com/elect-go/elect/c" // want: a may not import c
