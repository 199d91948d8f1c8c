package algo

// Property is something that must hold in every run, whatever happens in it. Its value
// is the word that reports and commands have for it.
type Property string

// The properties that can be seen of an algorithm.
const (
	// OneLeaderPerEpoch: no two nodes announce themselves for one epoch.
	OneLeaderPerEpoch Property = "one-leader-per-epoch"
	// EpochsGrow: neither what a node saves nor what it announces goes back to an older
	// epoch, over crashes too.
	EpochsGrow Property = "epochs-grow"
	// Durable: what a node announces is covered by what it has saved.
	Durable Property = "durable"
	// NoPhantom: whoever is followed as (epoch, id) has itself announced that it leads
	// in that epoch. What a step announces counts from its save on: a crash in the middle
	// of its sends may keep its application from hearing of it, and not the others.
	NoPhantom Property = "no-phantom"
	// Agreement: once nothing goes wrong any more, all who live come to follow one of
	// them, the highest where that is claimed, and stay with it.
	Agreement Property = "agreement"
	// Contract is what a driver enforces beyond the above.
	Contract Property = "contract"
)
