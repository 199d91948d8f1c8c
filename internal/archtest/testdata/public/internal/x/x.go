package x

type T struct{ N int }

type G[P any] struct{ P P }

// New returns a type of its own package, which is internal, too.
func New() *T { return nil }
