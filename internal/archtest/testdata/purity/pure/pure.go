package pure

import (
	_ "fmt"          // want: import of fmt in a pure package
	_ "math/rand/v2" // want: import of math/rand/v2 in a pure package
	_ "os"           // want: import of os in a pure package
	"slices"
	"time"
	clock "time"
	_ "unsafe" // want: import of unsafe in a pure package

	_ "github.com/elect-go/elect/base"
	_ "github.com/elect-go/elect/format" // want: import of github.com/elect-go/elect/format in a pure package
	_ "github.com/elect-go/elect/impure" // want: import of github.com/elect-go/elect/impure in a pure package
)

var (
	_ = time.Now   // want: use of time.Now in a pure package
	_ = clock.Tick // want: use of time.Tick in a pure package
)

type fields struct {
	Now  time.Duration
	at   time.Time // want: use of time.Time in a pure package
	done chan bool // want: channel in a pure package
}

type events chan int // want: channel in a pure package

func concurrent(e events) {
	go func() { // want: go statement in a pure package
		e <- 1 // want: channel in a pure package
	}()
	<-e      // want: channel in a pure package
	select { // want: channel in a pure package
	}
}

func sequential(f *fields, clocks []fields) time.Duration {
	slices.Reverse(clocks)
	negative := -f.Now
	return ^negative & (3*time.Hour + clock.Millisecond)
}
