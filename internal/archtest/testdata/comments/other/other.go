// Package other is imported.
package other

// Leader is a leader.
type Leader struct{ Epoch int }
