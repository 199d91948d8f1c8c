// Package cpu says how much work of a processor something takes: on a machine that others
// use too, that says more than the time that passes. Benchmarks use it.
package cpu
