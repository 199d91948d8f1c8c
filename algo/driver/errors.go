package driver

import "github.com/elect-go/elect/algo"

// ContractError is what a [Machine] panics with when its algorithm breaks the contract.
type ContractError struct {
	Algorithm string // Name of the algo.Spec
	Node      algo.NodeID
	Property  algo.Property // that does not hold: EpochsGrow, Durable or Contract
	Did       string        // what the algorithm did: "took its epoch back from 5 to 4"
}

func (e *ContractError) Error() string {
	return "algo: " + e.Algorithm + " at " + e.Node.String() + " " + e.Did
}
