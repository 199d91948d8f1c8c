//go:build race

package wire

// underRace: a sync.Pool forgets now and then.
const underRace = true
