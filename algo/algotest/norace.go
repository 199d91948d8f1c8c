//go:build !race

package algotest

const raced = false
