//go:build !linux

package netlab

import "time"

// Lab is a network, which only Linux can create.
type Lab struct{}

// New returns ErrUnavailable.
func New(int) (*Lab, error) { return nil, ErrUnavailable }

// Addr is never called, because no Lab exists.
func (*Lab) Addr(int) string { return "" }

// Command is never called.
func (*Lab) Command(int) []string { return nil }

// Split is never called.
func (*Lab) Split(...[]int) error { return ErrUnavailable }

// Drop is never called.
func (*Lab) Drop(int, ...int) error { return ErrUnavailable }

// Heal is never called.
func (*Lab) Heal() error { return ErrUnavailable }

// Delay is never called.
func (*Lab) Delay(time.Duration) error { return ErrUnavailable }

// Close does nothing.
func (*Lab) Close() error { return nil }
