//go:build !unix

package bench

import "errors"

// allowFiles returns an error: this system does not report processor time, so nothing can be measured.
func allowFiles(uint64) error { return errors.ErrUnsupported }
