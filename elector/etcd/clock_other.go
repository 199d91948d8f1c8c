//go:build !linux

package etcd

import "time"

var started = time.Now()

// now returns the time of the clock of the Go runtime. It may stand still while the machine sleeps.
func now() time.Duration { return time.Since(started) }
