package cluster_test

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

// copied returns a copy of a member's store, as a backup would.
func (f *fleet) copied(name string) cluster.Store {
	f.t.Helper()
	state, err := f.stores[name].Load()
	require.NoError(f.t, err)
	s := store.NewMemory()
	require.NoError(f.t, s.Save(state))
	return s
}

// double starts a second process with the state of a member, at another address. Without a quorum only the list of the
// new process has that address.
func (f *fleet) double(name string, kept cluster.Store) *member {
	f.t.Helper()
	c := cluster.Config{Name: name, Listen: "double:7400", Priority: int(name[1] - '0'), Lease: lease.Off}
	f.config(&c)
	if len(f.list) > 0 {
		c.Members = append(slices.Clone(f.list), c.Listen)
	}
	p := f.net.Process("double")
	m := run(f.t, c, inProcess(p), withStore(kept))
	m.process = p
	return m
}

// ends waits for a member to stop by itself.
func (m *member) ends(t testing.TB, within time.Duration) error {
	t.Helper()
	select {
	case <-m.done:
		return m.err
	case <-time.After(within):
		require.FailNowf(t, "it runs on", "%s after %v", m.name, within)
		return nil
	}
}

// A process with a copy of a data directory stops before it has led. The other nodes log at most one error and keep
// their leader.
func TestCopyStopsAndOriginalRunsOn(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		for _, of := range []string{"n1", "n2", "n3"} {
			t.Run(algorithm+" "+of, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFleet(t)
					f.config = func(c *cluster.Config) { c.Algorithm = builtin.Lookup(algorithm) }
					all := f.growTo(3)
					testkit.Advance(time.Minute)
					leader, _ := all[0].Leader()
					self, err := f.live[of].Status(t.Context())
					require.NoError(t, err)

					double := f.double(of, f.copied(of))
					err = double.ends(t, bound)
					require.ErrorIs(t, err, cluster.ErrDuplicateID)
					require.ErrorContains(t, err, self.Node.String())
					require.ErrorContains(t, err, "another process, at "+of+":")
					require.ErrorContains(t, err, "double:7400")
					require.ErrorContains(t, err, "empty its data directory")
					for _, s := range double.seen() {
						require.False(t, s.IsLeader, "the copy has led")
					}
					f.quiet(10 * time.Second)
					logged := 0
					for _, m := range all {
						require.LessOrEqual(t, len(m.log.Lines("level=ERROR")), 1, "%s: once", m.name)
						logged += len(m.log.Lines("level=ERROR", "duplicate id", self.Node.String(), "double:7400"))
						now, known := m.Leader()
						require.True(t, known)
						require.Equal(t, leader, now, m.name)
						for _, seen := range m.Members() {
							require.NotEqual(t, "double:7400", seen.Addr)
						}
					}
					require.NotZero(t, logged)
					f.members(0, "n1", "n2", "n3")
				})
			})
		}
	}
}

// A node that was restored from a backup has an incarnation that is not above the last one that its peers know. The
// peers reject it.
func TestRestoredDataDirectoryIsRejected(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		t.Run(algorithm, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = func(c *cluster.Config) { c.Algorithm = builtin.Lookup(algorithm) }
				all := f.growTo(3)
				testkit.Advance(time.Minute)
				backup := f.copied("n3")
				f.kill(all[2])
				testkit.Advance(bound)
				again := f.start(3)
				testkit.Advance(bound)
				f.kill(again)
				testkit.Advance(bound)

				restored := f.double("n3", backup)
				err := restored.ends(t, bound)
				require.ErrorIs(t, err, cluster.ErrDuplicateID)
				require.ErrorContains(t, err, "was started later, at n3:7400; this process is at double:7400")
				require.ErrorContains(t, err, "empty its data directory to have it join as a new member")
				for _, s := range restored.seen() {
					require.False(t, s.IsLeader, "the copy has led")
				}
				f.quiet(10 * time.Second)

				f.start(3) // with its latest state
				f.members(2*bound, "n1", "n2", "n3")
			})
		})
	}
}

// A supervisor replaces a process that has stalled. The peers accept the new process. The old one stops when it
// resumes.
func TestReplacedProcessStopsAfterResume(t *testing.T) {
	for _, of := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			f.config = leased
			all := f.growTo(3)
			testkit.Advance(time.Minute)
			old := all[of-1]
			resume := f.pause(old)
			t.Cleanup(resume)
			testkit.Advance(2 * bound)
			delete(f.live, old.name)
			next := f.double(old.name, f.copied(old.name))
			f.live[old.name] = next
			testkit.Advance(2 * bound)
			resume()
			require.ErrorIs(t, old.ends(t, 2*bound), cluster.ErrDuplicateID)
			for _, m := range f.live {
				m.follows(t, "n3", bound)
			}
			f.quiet(10 * time.Second)
		})
	}
}

// A node stops only after a peer has reported twice that another process has the node's ID.
func TestSingleDuplicateReportStopsNoNode(t *testing.T) {
	for _, reason := range []string{"duplicate id: node id x is in use", "duplicate id: node id x was started later"} {
		for _, again := range []bool{false, true} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(2*time.Minute)))
			m := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0", l.Addr().String()}, Lease: lease.Off})
			accept := func() raw {
				c, err := l.Accept()
				require.NoError(t, err)
				r := raw{t, c}
				r.hears("hello")
				return r
			}
			refuse := func(r raw) {
				r.frame(append([]byte{0}, reason...))
				r.Close()
			}
			refuse(accept())
			if again {
				refuse(accept())
				require.ErrorContains(t, m.ends(t, 30*time.Second), reason)
				continue
			}
			r := accept()
			r.say(hello())
			r.hears("self")
			r.Close()
			require.NoError(t, m.halt(), "a single report stops the node")
		}
	}
}
