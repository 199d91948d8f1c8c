package c

import _ "example.com/x/y" // want: c may not import example.com/x/y
