//go:build !linux

package cluster

func reserveLowFDs() func() { return func() {} }
