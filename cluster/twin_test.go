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

// copied is what a member keeps, as a backup has it.
func (f *fleet) copied(name string) cluster.Store {
	f.t.Helper()
	state, err := f.stores[name].Load()
	require.NoError(f.t, err)
	s := store.NewMemory()
	require.NoError(f.t, s.Save(state))
	return s
}

// double starts one more process with what a member keeps, at another address. Without a quorum no other node has that
// address in its list.
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
		require.FailNowf(t, "it goes on", "%s after %v", m.name, within)
		return nil
	}
}

// A copy of a data folder that is started beside its original stops before it has led, and nobody
// else notices more than a line in the log.
func TestACopyStopsAndTheOriginalGoesOn(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		for _, of := range []string{"n1", "n2", "n3"} {
			t.Run(algorithm+" "+of, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFleet(t)
					f.config = func(c *cluster.Config) { c.Algorithm = builtin.Lookup(algorithm) }
					all := f.growTo(3)
					testkit.Pass(time.Minute)
					leader, _ := all[0].Leader()
					self, err := f.live[of].Status(t.Context())
					require.NoError(t, err)

					double := f.double(of, f.copied(of))
					err = double.ends(t, bound)
					require.ErrorIs(t, err, cluster.ErrDuplicateID)
					require.ErrorContains(t, err, self.Node.String())
					require.ErrorContains(t, err, "another process, at "+of+":")
					require.ErrorContains(t, err, "double:7400")
					require.ErrorContains(t, err, "empty its data folder")
					for _, s := range double.seen() {
						require.False(t, s.IsLeader, "it has led")
					}
					f.quiet(10 * time.Second)
					said := 0
					for _, m := range all {
						require.LessOrEqual(t, len(m.log.Lines("level=ERROR")), 1, "%s: once", m.name)
						said += len(m.log.Lines("level=ERROR", "duplicate id", self.Node.String(), "double:7400"))
						now, known := m.Leader()
						require.True(t, known)
						require.Equal(t, leader, now, m.name)
						for _, seen := range m.Members() {
							require.NotEqual(t, "double:7400", seen.Addr)
						}
					}
					require.NotZero(t, said)
					f.members(0, "n1", "n2", "n3")
				})
			})
		}
	}
}

// What was restored from a backup has been started less often than others know, or as often as
// the process that is no more, and is refused.
func TestARestoredFolderIsRefused(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		t.Run(algorithm, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = func(c *cluster.Config) { c.Algorithm = builtin.Lookup(algorithm) }
				all := f.growTo(3)
				testkit.Pass(time.Minute)
				backup := f.copied("n3")
				f.kill(all[2])
				testkit.Pass(bound)
				again := f.start(3)
				testkit.Pass(bound)
				f.kill(again)
				testkit.Pass(bound)

				restored := f.double("n3", backup)
				err := restored.ends(t, bound)
				require.ErrorIs(t, err, cluster.ErrDuplicateID)
				require.ErrorContains(t, err, "was started later, at n3:7400; this process is at double:7400")
				require.ErrorContains(t, err, "empty its data folder to have it join as a new member")
				for _, s := range restored.seen() {
					require.False(t, s.IsLeader, "it has led")
				}
				f.quiet(10 * time.Second)

				f.start(3) // with what it kept itself
				f.members(2*bound, "n1", "n2", "n3")
			})
		})
	}
}

// A supervisor replaces a process that does not run any more. The new one is let in; the old one
// finds out when it runs on.
func TestWhoIsReplacedWhileItDoesNotRunStops(t *testing.T) {
	for _, of := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			f.config = leased
			all := f.growTo(3)
			testkit.Pass(time.Minute)
			old := all[of-1]
			resume := f.pause(old)
			t.Cleanup(resume)
			testkit.Pass(2 * bound)
			delete(f.live, old.name)
			next := f.double(old.name, f.copied(old.name))
			f.live[old.name] = next
			testkit.Pass(2 * bound)
			resume()
			require.ErrorIs(t, old.ends(t, 2*bound), cluster.ErrDuplicateID)
			for _, m := range f.live {
				m.follows(t, "n3", bound)
			}
			f.quiet(10 * time.Second)
		})
	}
}

// One who says that another process has a node's id is asked again before it is believed.
func TestOneRefusalStopsNobody(t *testing.T) {
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
			require.NoError(t, m.halt(), "it goes on")
		}
	}
}
