package membership

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/elect-go/elect/algo"
)

// recoveryStep is the distance of config terms between recoveries. Lost members that continue without the
// survivor would need that many elections to come as far.
const recoveryStep = 1 << 30

// Recover returns the record with which one survivor continues after a quorum was lost for good. The node
// must not run. It is the only member then, and the other nodes join with empty directories. taken is
// the highest epoch in which it has taken part.
//
// If two survivors are recovered by mistake, their terms differ, and the node with the lower one is
// removed when they meet.
func Recover(self algo.NodeID, saved Record, taken algo.Epoch) (Record, error) {
	mine, found := saved.Config.Find(self)
	if !found {
		return saved, errors.New("membership: this node is no member: there is nothing to recover")
	}
	highest := max(saved.Config.ID.Term, taken)
	offset := algo.Epoch(binary.BigEndian.Uint64(self[8:]) % (recoveryStep / 2))
	term := (highest/recoveryStep+2)*recoveryStep + offset
	if term > maxTerm {
		return saved, fmt.Errorf("membership: too few epochs are left after %d: bootstrap a new cluster", highest)
	}
	mine.Witness = false // it is the only member that could lead
	next := saved.Config
	next.ID = ConfigID{term, saved.Config.ID.Version + 1}
	next.Author, next.Members = self, []Member{mine}
	return Record{Config: next, Committed: true, WasMember: true}, nil
}
