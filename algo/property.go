package algo

// Property is a condition that must hold in every run. Its value is the name of the property in
// reports and commands.
type Property string

// The properties of an algorithm that a test can observe.
const (
	// OneLeaderPerEpoch: no two nodes announce themselves for one epoch.
	OneLeaderPerEpoch Property = "one-leader-per-epoch"
	// MonotonicEpochs: neither the saved nor the announced epoch of a node decreases, not even over a
	// crash.
	MonotonicEpochs Property = "monotonic-epochs"
	// Durable: the saved epoch of a node covers its announcements.
	Durable Property = "durable"
	// NoPhantom: each leader that a node follows has announced itself in that epoch. An
	// announcement counts from the save of its event on: after a crash between the sends of that
	// event, other nodes may know the leader, although its own application does not.
	NoPhantom Property = "no-phantom"
	// Agreement: once no faults occur, all live nodes follow the same live leader permanently, the
	// highest one if the algorithm claims this.
	Agreement Property = "agreement"
	// Contract: the algorithm meets the other requirements that a driver enforces.
	Contract Property = "contract"
)
