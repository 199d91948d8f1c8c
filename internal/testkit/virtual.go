package testkit

import "time"

// synctest begins each bubble at midnight UTC, 1 January 2000. Nothing here waits
// decades.
var notVirtual = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Advance advances virtual time by d. Outside of a bubble it panics: a test must not wait for
// the real clock.
func Advance(d time.Duration) {
	if time.Now().After(notVirtual) {
		panic("testkit: Advance was called in real time, outside of a synctest bubble")
	}
	time.Sleep(d)
}
