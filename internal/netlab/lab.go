package netlab

import "errors"

// ErrUnavailable says that this machine does not let a [Lab] be made: a tool is missing,
// a part of the kernel is, or the right to use it.
var ErrUnavailable = errors.New("netlab: not available here")

// MaxHosts is how many hosts a Lab has at most.
const MaxHosts = 64
