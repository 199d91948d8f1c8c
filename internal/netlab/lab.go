package netlab

import "errors"

// ErrUnavailable reports that a [Lab] cannot be created on this machine: it lacks a tool, a part of the kernel, or
// the permission.
var ErrUnavailable = errors.New("netlab: not available here")

// MaxHosts is the maximum number of hosts in a Lab.
const MaxHosts = 64
