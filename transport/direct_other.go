//go:build !unix

package transport

import "errors"

const canTry = false

func tryWrite(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
