package driver

import "github.com/elect-go/elect/algo"

// ContractError is the value with which a [Machine] panics when its algorithm violates the contract.
type ContractError struct {
	Algorithm string // name of the algo.Spec
	Node      algo.NodeID
	Property  algo.Property // violated property: MonotonicEpochs, Durable or Contract
	Action    string        // action of the algorithm, such as "took its epoch back from 5 to 4"
}

func (e *ContractError) Error() string {
	return "algo: " + e.Algorithm + " at " + e.Node.String() + " " + e.Action
}
