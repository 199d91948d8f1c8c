package a

import _ "github.com/elect-go/elect/b"
