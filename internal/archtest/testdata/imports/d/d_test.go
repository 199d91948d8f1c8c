// Package d has only tests.
package d
