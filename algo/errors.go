package algo

// ContractError is what a [Machine] panics with when its algorithm breaks the contract.
type ContractError struct {
	Algorithm string // Spec.Name
	Node      NodeID
	Property  Property // that does not hold: EpochsGrow, Durable or Contract
	Did       string   // what the algorithm did: "took its epoch back from 5 to 4"
}

func (e *ContractError) Error() string {
	return "algo: " + e.Algorithm + " at " + e.Node.String() + " " + e.Did
}

// EpochError says that the epoch of a message is too far ahead of what the node keeps: see
// [Horizon].
type EpochError struct{ Epoch, Kept Epoch }

func (e *EpochError) Error() string {
	return "epoch " + number(e.Epoch) + " is too far ahead of " + number(e.Kept)
}
