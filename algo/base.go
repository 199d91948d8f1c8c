package algo

// Base is for a first algorithm to embed, which need not know all of the contract yet: it
// ignores what its methods are told. What the algorithm does know it declares itself.
//
// Start, Receive, Stable and Clone are its own in any case. So there is nothing here that
// could be forgotten and be wrong for it.
type Base struct{}

// Expire ignores the end of a timer: there is none.
func (Base) Expire(Env, Timer) {}

// Suspect ignores a suspicion: nobody is monitored.
func (Base) Suspect(Env, NodeID) {}

// Trust ignores that a suspicion was wrong, or is over.
func (Base) Trust(Env, NodeID) {}

// Campaign ignores a call for an election.
func (Base) Campaign(Env) {}

// Reconfigure ignores a new view.
func (Base) Reconfigure(Env, View) {}
