//go:build !linux

package resident

func unmapProgram() {}
