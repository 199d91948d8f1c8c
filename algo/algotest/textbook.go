package algotest

// What the sources of textbooks take for granted.
const (
	sameMembers   = "that the members are always the same, and all there from the beginning"
	noneIsLost    = "that every message arrives, once, in time, and in the election that it is of"
	nobodyFails   = "that nobody fails while an election is on, and that who comes back is noticed"
	detectorRight = "that nobody is suspected who lives"
	oneAtATime    = "that one election ends before the next begins"
)

// exempt are the checks that are not asked of an algo.Spec that is a Textbook, each with what
// its source takes for granted and the check denies it. Nor does a textbook get a detector of
// its own: the one it runs with finds every crash and makes no mistake.
var exempt = map[string]string{
	"agreement":          sameMembers,
	"campaign":           oneAtATime,
	"failover":           nobodyFails,
	"restart":            nobodyFails,
	"restart-after-save": nobodyFails,
	"loss":               noneIsLost,
	"delay":              noneIsLost,
	"wrong-suspicion":    detectorRight,
	"partition":          noneIsLost,
	"pause":              detectorRight,
	"add-member":         sameMembers,
	"remove-member":      sameMembers,
	"remove-leader":      sameMembers,
	"resignation":        sameMembers,
	"strangers":          sameMembers,
	"old-messages":       noneIsLost,
	"messages":           oneAtATime,
	"walk":               nobodyFails,
	"storm":              nobodyFails,
	"no-phantom":         oneAtATime,
	"eventual-agreement": noneIsLost,
	"highest-leads":      noneIsLost,
}
