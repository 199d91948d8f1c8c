package membership

import (
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

// searchResult is the result of a search.
type searchResult struct {
	states, edges, depth, calmRuns int
	complete                       bool
	excuses                        map[string]int
	violation                      string   // of safety, or of liveness in a calm run
	trace                          []string // the steps to it
	took                           time.Duration
}

// search visits the states of a scenario level by level, so that the first violation has a shortest trace.
type search struct {
	s    *scenario
	calm bool

	mu     sync.Mutex
	log    []visited
	next   []found
	result searchResult

	seen, calmed hashSet
}

// visited is a state in the log: the index of its predecessor, and the step from there.
type visited struct {
	parent int
	by     action
}

// found is a state to be continued, with its index in the log.
type found struct {
	w  *world
	at int
}

var hashSeed = maphash.MakeSeed()

// hashSet is a set of states, by hash.
type hashSet struct {
	shards [64]struct {
		sync.Mutex
		m map[uint64]struct{}
	}
}

// add adds a hash, and reports whether it is new.
func (h *hashSet) add(k uint64) bool {
	sh := &h.shards[k%64]
	sh.Lock()
	defer sh.Unlock()
	if sh.m == nil {
		sh.m = make(map[uint64]struct{})
	}
	_, known := sh.m[k]
	sh.m[k] = struct{}{}
	return !known
}

// runSearch visits all states of s, or stops after a limit of states.
func runSearch(s *scenario, calm bool, limit int) searchResult {
	began := time.Now()
	r := &search{s: s, calm: calm, log: []visited{{parent: -1}}}
	r.result.excuses = make(map[string]int)
	first := s.start()
	r.seen.add(maphash.Bytes(hashSeed, first.encode(nil)))
	level := []found{{first, 0}}
	for len(level) > 0 && r.result.violation == "" && (limit == 0 || len(r.log) < limit) {
		r.result.depth++
		r.visit(level)
		level, r.next = r.next, nil
	}
	r.result.complete = len(level) == 0 && r.result.violation == ""
	r.result.states, r.result.took = len(r.log), time.Since(began)
	return r.result
}

// visit checks the states of one level, and finds those of the next.
func (r *search) visit(level []found) {
	chunks := make(chan []found)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for chunk := range chunks {
				for _, f := range chunk {
					r.check(f)
					f.w.next(func(a action, w *world) { r.record(f, a, w) })
				}
			}
		})
	}
	for chunk := range slices.Chunk(level, 64) {
		chunks <- chunk
	}
	close(chunks)
	workers.Wait()
}

// record logs state w, which is one step after f, if it is new.
func (r *search) record(f found, a action, w *world) {
	isNew := w.violation != "" || r.seen.add(maphash.Bytes(hashSeed, w.encode(make([]byte, 0, 256))))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.edges++
	if !isNew {
		return
	}
	r.log = append(r.log, visited{f.at, a})
	at := len(r.log) - 1
	if w.violation != "" {
		r.fail(w.violation, at)
		return
	}
	r.next = append(r.next, found{w, at})
}

// fail records a violation. The caller holds mu.
func (r *search) fail(violation string, at int) {
	if r.result.violation != "" {
		return
	}
	r.result.violation = violation
	for ; at > 0; at = r.log[at].parent {
		r.result.trace = append(r.result.trace, r.log[at].by.String())
	}
	slices.Reverse(r.result.trace)
}

// check checks the safety of a state, and continues it in calm: once with the dead nodes down, once with all of them
// started again.
func (r *search) check(f found) {
	if violation := f.w.checkQuorums(); violation != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fail(violation, f.at)
		return
	}
	for _, restart := range []bool{false, true} {
		if !r.calm || restart && f.w.dead() == 0 || !r.isNewInCalm(f.w, restart) {
			continue
		}
		wrong, excuse := f.w.calm(restart)
		r.mu.Lock()
		r.result.calmRuns++
		if excuse != "" {
			r.result.excuses[excuse]++
		}
		if wrong != "" {
			r.fail(wrong+strings.Repeat(" (all restarted)", map[bool]int{true: 1}[restart]), f.at)
		}
		r.mu.Unlock()
	}
}

// isNewInCalm reports whether to continue w in calm: no state with the same nodes was continued, and calmSkip keeps w.
// Messages and budgets do not count.
func (r *search) isNewInCalm(w *world, restart bool) bool {
	c := *w
	c.facts, c.left = nil, budget{}
	b := c.encode(make([]byte, 0, 256))
	if restart {
		b = append(b, 1)
	}
	k := maphash.Bytes(hashSeed, b)
	return r.calmed.add(k) && (r.s.calmSkip < 2 || k%r.s.calmSkip == 0)
}

// checkQuorums returns a violation of safety: two lease holders, two nodes that disjoint quorums could elect, or a node
// that could be elected in a second cluster or with a config older than the committed one.
func (w *world) checkQuorums() string {
	leaders := 0
	for _, n := range w.nodes {
		if n.leads {
			leaders++
		}
	}
	if w.s.lease && leaders > 1 {
		return "two nodes hold a lease at one moment"
	}
	var can [8]nodeSet
	for i, n := range w.nodes {
		can[i] = w.possibleVoters(i)
		if can[i] == 0 {
			continue
		}
		if n.m.config.ID.Compare(w.commit.ID) < 0 && !w.isEmptied(w.elected) {
			return fmt.Sprintf("n%d could be elected with %s, and %s is committed", i+1, format(n.m.config), format(w.commit))
		}
		isSecond := !w.commit.Cluster.IsZero() && n.m.config.Cluster != w.commit.Cluster
		if isSecond && !w.isEmptied(w.elected) {
			return fmt.Sprintf("n%d could be elected in a second cluster", i+1)
		}
		for j := range i {
			if can[j] != 0 && canBothWin(w, can, i, j) {
				return fmt.Sprintf("n%d with %s and n%d with %s could be elected by disjoint quorums",
					i+1, format(n.m.config), j+1, format(w.nodes[j].m.config))
			}
		}
	}
	return ""
}

// possibleVoters returns the voters that could elect node i; none if they are no quorum.
func (w *world) possibleVoters(i int) (voters nodeSet) {
	n := w.nodes[i]
	if n.gone || n.m.end != nil || !n.m.isVoter() {
		return 0
	}
	all := votersOf(n.m.config.Members)
	for v, o := range w.nodes {
		if all.has(v) && !o.gone && o.m.end == nil && w.mayVote(o, n) {
			voters |= one(v)
		}
	}
	if voters.size() < all.quorum() {
		return 0
	}
	return voters
}

// canBothWin reports whether disjoint sets of voters are quorums of the configs of i and j.
func canBothWin(w *world, can [8]nodeSet, i, j int) bool {
	a, b := can[i]&^one(j), can[j]&^one(i)
	qa, qb := votersOf(w.nodes[i].m.config.Members).quorum(), votersOf(w.nodes[j].m.config.Members).quorum()
	missing := max(0, qa-(a&^b).size()) + max(0, qb-(b&^a).size())
	return a.size() >= qa && b.size() >= qb && missing <= (a&b).size()
}

func (r searchResult) String() string {
	text := fmt.Sprintf("%d states, %d edges, depth %d, %d calm runs, %.1f s", r.states, r.edges, r.depth, r.calmRuns, r.took.Seconds())
	for _, excuse := range sortedKeys(r.excuses) {
		text += fmt.Sprintf("\n  excused %d: %s", r.excuses[excuse], excuse)
	}
	if r.violation != "" {
		text += "\n  " + r.violation
		for i, step := range r.trace {
			text += fmt.Sprintf("\n  %2d %s", i+1, step)
		}
	}
	return text
}

func sortedKeys(m map[string]int) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// No state of a small cluster violates a rule, and each state comes to rest in calm. Without -long, the search visits
// only the states of the first steps.
func TestSearch(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			if s.long {
				testkit.OnlyLong(t)
			}
			limit := s.limit
			switch {
			case testkit.Long():
			case testkit.UnderRace:
				limit = 500 // ten times slower, and after this number of states all goroutines have met
			default:
				limit = 4000
			}
			r := runSearch(&s.scenario, true, limit)
			t.Log(r)
			if r.violation != "" {
				t.Fatal(r.violation)
			}
			if !r.complete && (limit == 0 || r.states < limit) {
				t.Fatal("not complete")
			}
		})
	}
}

// describe returns all parts of a world that matter in a search. The author of the committed config does not.
func describe(w *world) string {
	var text strings.Builder
	for _, n := range w.nodes {
		c, m := *n, *n.m
		isPending := m.retryAt != never
		m.links, m.view, m.viewStale, m.retryAt, m.suspectAt, m.env = nil, algo.View{}, false, 0, 0, nil
		m.digest, m.digestOf = 0, digested{} // both follow from the rest
		c.m, c.key = nil, nil
		fmt.Fprintf(&text, "%+v %+v %v\n", c, m, isPending)
	}
	return fmt.Sprint(text.String(), w.facts, w.left, w.given, format(w.commit))
}

// States with the same key are equal. Otherwise, a search would skip the states that follow from one of them.
func TestStateKeyIsComplete(t *testing.T) {
	for _, s := range scenarios() {
		seen := make(map[string]string)
		level := []*world{s.start()}
		for len(level) > 0 && len(seen) < testkit.Rounds(60, 8000) {
			var next []*world
			for _, w := range level {
				w.next(func(a action, c *world) {
					key, text := string(c.encode(nil)), describe(c)
					if known, found := seen[key]; !found {
						seen[key] = text
						next = append(next, c)
					} else if known != text {
						t.Fatalf("%s: after %q one key stands for\n%s\nand\n%s", s.name, a, known, text)
					}
				})
			}
			level = next
		}
	}
}
