package algo

// Rule is a duty of an [Algorithm] that the [Machine] enforces.
type Rule string

// The rules.
const (
	RuleEvent     Rule = "event"     // the host steps a Machine with the events there are
	RuleRecipient Rule = "recipient" // a message is for another node
	RuleMessage   Rule = "message"   // what is sent is among Spec.Messages
	RuleTimer     Rule = "timer"     // a timer has a range of times to come
	RuleMonitor   Rule = "monitor"   // a node does not monitor itself
	RuleEpoch     Rule = "epoch"     // epochs never go back, neither kept nor announced
	RuleDurable   Rule = "durable"   // an announced epoch is covered by Stable
	RuleExtra     Rule = "extra"     // Stable.Extra is short text
)

// ContractError is what a [Machine] panics with when its algorithm breaks the contract.
type ContractError struct {
	Algorithm string // Spec.Name
	Node      NodeID
	Rule      Rule
	Did       string // what the algorithm did: "took its epoch back from 5 to 4"
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
