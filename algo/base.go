package algo

// Base contains methods that ignore their events. A simple algorithm embeds it and declares only
// the methods that it needs.
//
// Start, Receive, HardState and Clone are not among them: an algorithm that did not declare one of
// these would be wrong.
type Base struct{}

// Expire ignores the end of a timer.
func (Base) Expire(Env, Timer) {}

// Suspect ignores a suspicion.
func (Base) Suspect(Env, NodeID) {}

// Trust ignores the end of a suspicion.
func (Base) Trust(Env, NodeID) {}

// Campaign ignores a request for an election.
func (Base) Campaign(Env) {}

// Reconfigure ignores a new view.
func (Base) Reconfigure(Env, View) {}
