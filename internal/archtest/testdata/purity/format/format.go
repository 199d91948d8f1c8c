package format

import (
	"fmt"
	"sync"

	_ "github.com/elect-go/elect/base"
)

var (
	_ = fmt.Sprint
	_ = fmt.Println // want: use of fmt.Println in a pure package
	_ sync.Pool
	_ sync.Mutex // want: use of sync.Mutex in a pure package
)
