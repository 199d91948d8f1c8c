package kubernetes_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/enginetest"
	"github.com/elect-go/elect/elector/kubernetes/internal/kubetest"
)

const (
	duration = kubetest.LeaseDuration
	usable   = duration * 9 / 10
)

// keeps requires that a contender leads with the same token for a time.
func keeps(t *testing.T, e elector.Elector, token uint64, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	for s := range e.Watch(ctx) {
		require.True(t, s.IsLeader && s.Leader.Token == token, "%+v", s)
	}
}

// The other contenders count the duration from the moment when they see a renewal. Its answer may be late, so the
// contender must count from the moment when it sent the renewal.
func TestDeadlineCountsFromSendingOfRenewal(t *testing.T) {
	virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		var mu sync.Mutex
		var sent time.Time
		answered := 0
		g.StartWith(g.Config("n1"), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if !isWrite(r) {
				return next.RoundTrip(r)
			}
			now := time.Now()
			resp, err := next.RoundTrip(r)
			time.Sleep(time.Second) // on the way back
			mu.Lock()
			defer mu.Unlock()
			sent = now
			answered++
			return resp, err
		})
		ctx, stop := context.WithCancel(t.Context())
		err := g.Elector("n1").Lead(ctx, func(ctx context.Context, l elector.Leadership) error {
			for ctx.Err() == nil {
				end, bounded := l.Deadline()
				require.True(t, bounded)
				mu.Lock()
				latest, n := sent.Add(usable), answered
				mu.Unlock()
				require.LessOrEqual(t, end, latest)
				if n == 5 {
					stop()
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// The API server has performed a write, and the answer was lost.
func TestLostAnswers(t *testing.T) {
	for name, lose := range map[string]kubetest.Intercept{
		"broken connection": loseAnswer,
		"timeout": func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			_, err := loseAnswer(r, next)
			<-r.Context().Done()
			return nil, errors.Join(err, r.Context().Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("to the takeover", func(t *testing.T) {
				virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
					var writes atomic.Int32
					g.StartWith(g.Config("n1"), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
						if isWrite(r) && writes.Add(1) == 1 {
							return lose(r, next)
						}
						return next.RoundTrip(r)
					})
					state := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
					l, err := s.Get(keyOf(g))
					require.NoError(t, err)
					require.EqualValues(t, 1, *l.Spec.LeaseTransitions, "the lost takeover counts")
					keeps(t, g.Elector("n1"), state.Leader.Token, 4*duration)
				})
			})
			t.Run("to renewals", func(t *testing.T) {
				virtually(t, 2, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
					leader := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
					enginetest.WaitState(t, g.Elector(leader.Name), enginetest.IsLeader)
					var writes atomic.Int32
					g.Member(leader.Name).Link.Intercept(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
						if isWrite(r) && writes.Add(1)%2 == 0 {
							return lose(r, next)
						}
						return next.RoundTrip(r)
					})
					keeps(t, g.Elector(leader.Name), leader.Token, 6*duration)
					require.Greater(t, writes.Load(), int32(8))
				})
			})
			t.Run("and nothing can be read", func(t *testing.T) {
				virtually(t, 2, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
					leader := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
					enginetest.WaitState(t, g.Elector(leader.Name), enginetest.IsLeader)
					began := time.Now()
					g.Member(leader.Name).Link.Intercept(lose)
					state := enginetest.WaitState(t, g.Elector(leader.Name), func(s elector.State) bool { return !s.IsLeader })
					require.ErrorIs(t, state.Cause, elector.ErrLost)
					require.LessOrEqual(t, time.Since(began), usable, "the renewals that reached the server do not count")
					g.Member(leader.Name).Link.Intercept(nil)
					next := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsAfter(leader)).Leader
					require.Greater(t, next.Token, leader.Token)
				})
			})
			t.Run("to the release", func(t *testing.T) {
				virtually(t, 2, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
					leader := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
					enginetest.WaitState(t, g.Elector(leader.Name), enginetest.IsLeader)
					began := time.Now()
					g.Member(leader.Name).Link.Intercept(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
						if isWrite(r) {
							return lose(r, next)
						}
						return next.RoundTrip(r)
					})
					g.Stop(leader.Name)
					other := map[string]string{"n1": "n2", "n2": "n1"}[leader.Name]
					enginetest.WaitState(t, g.Elector(other), enginetest.IsLeader)
					require.Less(t, time.Since(began), duration/2, "the Lease was released")
				})
			})
		})
	}
}

// A contender that reads only an old version takes no Lease, and loses none.
func TestStaleReads(t *testing.T) {
	// stale answers each read with the version that was read first, and allows no watch.
	stale := func() kubetest.Intercept {
		var mu sync.Mutex
		var old []byte
		return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case isWatch(r):
				return nil, errLost
			case isRead(r) && old != nil:
				return answer(r, http.StatusOK, old), nil
			}
			resp, err := next.RoundTrip(r)
			if err == nil && isRead(r) {
				old, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				return answer(r, resp.StatusCode, old), err
			}
			return resp, err
		}
	}
	t.Run("of a candidate", func(t *testing.T) {
		virtually(t, 1, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
			leader := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
			m := g.StartWith(g.Config("n2"), stale())
			require.Equal(t, leader.Token, enginetest.WaitState(t, m, elector.State.HasLeader).Leader.Token)
			enginetest.WaitState(t, m, enginetest.IsVacant) // for n2 the Lease has expired
			keeps(t, g.Elector("n1"), leader.Token, 4*duration)
			m.Link.Intercept(nil)
			require.Equal(t, leader.Token, enginetest.WaitState(t, m, elector.State.HasLeader).Leader.Token)
		})
	})
	t.Run("of the holder", func(t *testing.T) {
		virtually(t, 1, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
			old := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
			leadershipOfN1 := stale()
			m := g.StartWith(g.Config("n2"), leadershipOfN1)
			enginetest.WaitState(t, m, elector.State.HasLeader)
			g.Stop("n1")
			m.Link.Intercept(nil)
			next := enginetest.WaitState(t, m, enginetest.IsLeader).Leader
			require.Greater(t, next.Token, old.Token)
			g.Start("n1")
			m.Link.Intercept(leadershipOfN1)
			keeps(t, m, next.Token, 4*duration)
		})
	})
	t.Run("that no Lease exists", func(t *testing.T) {
		virtually(t, 1, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
			leader := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
			m := g.StartWith(g.Config("n2"), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				switch {
				case isWatch(r):
					return nil, errLost
				case isRead(r):
					return reject(r, notFound())
				}
				return next.RoundTrip(r)
			})
			keeps(t, g.Elector("n1"), leader.Token, 4*duration)
			m.Link.Intercept(nil)
			require.Equal(t, leader.Token, enginetest.WaitState(t, m, elector.State.HasLeader).Leader.Token)
		})
	})
}

// If the API server stops responding, the work ends before the Lease, by the clock of the contender.
func TestServerGone(t *testing.T) {
	for name, fault := range map[string]kubetest.Intercept{
		"refuses": func(*http.Request, http.RoundTripper) (*http.Response, error) { return nil, errLost },
		"hangs": func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"is overloaded": func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			resp, err := reject(r, tooManyRequests())
			resp.Header.Set("Retry-After", "1")
			return resp, err
		},
		"answers later than a request may take": func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			select {
			case <-time.After(duration / 3):
				return resp, err
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		},
		"has lost its storage": func(r *http.Request, _ http.RoundTripper) (*http.Response, error) { return reject(r, internalError()) },
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, 2, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
				leader := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
				enginetest.WaitState(t, g.Elector(leader.Name), enginetest.IsLeader)
				time.Sleep(3*duration + duration/7)
				began := time.Now()
				for _, name := range g.Names() {
					g.Member(name).Link.Intercept(fault)
				}
				state := enginetest.WaitState(t, g.Elector(leader.Name), func(s elector.State) bool { return !s.IsLeader })
				require.ErrorIs(t, state.Cause, elector.ErrLost)
				require.LessOrEqual(t, time.Since(began), usable)
				require.GreaterOrEqual(t, time.Since(began), usable-duration/3-duration/4, "the deadline is no earlier than it must be")
				for _, name := range g.Names() {
					enginetest.WaitState(t, g.Elector(name), enginetest.IsVacant)
				}
				require.LessOrEqual(t, time.Since(began), duration+duration/3, "the vacancy is known after the duration")
				stopping := time.Now()
				g.Stop("n2")
				require.LessOrEqual(t, time.Since(stopping), duration, "Run ends in bounded time")
				g.Member("n1").Link.Intercept(nil)
				require.Greater(t, enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader.Token, leader.Token)
			})
		})
	}
}

// One HTTP/2 connection carries all requests. If its other end is gone, the contender opens a new one in time.
func TestDeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.NewLocalHTTP2(t)
		g := kubetest.NewGroup(t, s, inVirtualTime, 1)
		leader := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
		for range 5 {
			require.Equal(t, 1, g.Member("n1").Link.Conns())
			g.Member("n1").Link.Freeze()
			keeps(t, g.Elector("n1"), leader.Token, 2*duration)
		}
		g.Stop("n1")
		require.Zero(t, g.Member("n1").Link.Conns(), "Run leaves no connection")
	})
}

// A leader keeps its Lease although each request is slow, but within its timeout.
func TestSlowServer(t *testing.T) {
	virtually(t, 2, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		for _, name := range g.Names() {
			g.Member(name).Link.Intercept(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				time.Sleep(duration / 10)
				resp, err := next.RoundTrip(r)
				time.Sleep(duration / 10)
				return resp, err
			})
		}
		leader := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
		enginetest.WaitState(t, g.Elector(leader.Name), enginetest.IsLeader)
		keeps(t, g.Elector(leader.Name), leader.Token, 10*duration)
		require.NoError(t, g.Elector(leader.Name).Resign(t.Context()))
		require.Greater(t, enginetest.WaitState(t, g.Elector("n1"), enginetest.IsAfter(leader)).Leader.Token, leader.Token)
	})
}

// A contender learns of each leader although its watch ends with 410 (Gone), is forbidden, or shows nothing.
func TestAPIWatchEnds(t *testing.T) {
	virtually(t, 3, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		blind := map[string]kubetest.Intercept{
			"n2": func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if isWatch(r) {
					return reject(r, forbidden())
				}
				return next.RoundTrip(r)
			},
			"n3": func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if isWatch(r) {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				return next.RoundTrip(r)
			},
		}
		for name, fault := range blind {
			g.Member(name).Link.Intercept(fault)
		}
		leader := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
		for range 6 {
			enginetest.WaitState(t, g.Elector(leader.Name), enginetest.IsLeader)
			s.Compact()
			began := time.Now()
			require.NoError(t, g.Elector(leader.Name).Resign(t.Context()))
			for _, name := range g.Names() {
				next := enginetest.WaitState(t, g.Elector(name), enginetest.IsAfter(leader)).Leader
				require.Greater(t, next.Token, leader.Token)
			}
			require.Less(t, time.Since(began), 2*duration)
			leader = agree(t, g)
		}
	})
	t.Run("before it began", func(t *testing.T) {
		virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
			g.StartWith(g.Config("n1"), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if isWatch(r) {
					return reject(r, gone())
				}
				return next.RoundTrip(r)
			})
			leader := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
			keeps(t, g.Elector("n1"), leader.Token, 4*duration)
		})
	})
}

// After the deletion of the Lease the old holder may still work, so no contender leads before the duration has passed.
func TestDeletedLease(t *testing.T) {
	for name, cut := range map[string]bool{"holder learns of it": false, "holder is cut off": true} {
		t.Run(name, func(t *testing.T) {
			virtually(t, 3, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
				old := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
				enginetest.WaitState(t, g.Elector(old.Name), enginetest.IsLeader)
				time.Sleep(2 * duration)
				if cut {
					g.Member(old.Name).Link.Cut()
				}
				began := time.Now()
				require.NoError(t, s.Delete(keyOf(g)))
				ended := make(chan time.Duration, 1)
				go func() {
					state := enginetest.WaitState(t, g.Elector(old.Name), func(s elector.State) bool { return !s.IsLeader })
					if !errors.Is(state.Cause, elector.ErrLost) {
						t.Errorf("the work ended with %v", state.Cause)
					}
					ended <- time.Since(began)
				}()
				var other string
				for _, name := range g.Names() {
					if name != old.Name {
						other = name
					}
				}
				next := enginetest.WaitState(t, g.Elector(other), enginetest.IsAfter(old)).Leader
				require.GreaterOrEqual(t, time.Since(began), duration)
				require.Less(t, time.Since(began), 2*duration)
				require.Greater(t, next.Token, old.Token)
				require.Equal(t, old.Scope, next.Scope)
				if d := <-ended; cut {
					require.LessOrEqual(t, d, usable)
				} else {
					require.Less(t, d, time.Second, "the watch shows the deletion")
				}
				l, err := s.Get(keyOf(g))
				require.NoError(t, err)
				require.EqualValues(t, 1, *l.Spec.LeaseTransitions, "this count begins again")
				if cut {
					g.Member(old.Name).Link.Heal()
				}
				enginetest.WaitState(t, g.Elector(old.Name), func(s elector.State) bool { return s.Leader.Token == next.Token })
			})
		})
	}
	t.Run("replaced by a copy of a released one", func(t *testing.T) {
		virtually(t, 1, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
			enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
			g.Stop("n1")
			released, err := s.Get(keyOf(g))
			require.NoError(t, err)
			g.Start("n1")
			old := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
			g.Start("n2")
			enginetest.WaitState(t, g.Elector("n2"), elector.State.HasLeader)
			g.Member("n1").Link.Cut()
			began := time.Now()
			require.NoError(t, s.Replace(keyOf(g), released))
			next := enginetest.WaitState(t, g.Elector("n2"), enginetest.IsLeader).Leader
			require.GreaterOrEqual(t, time.Since(began), duration, "that the copy was released says nothing of the Lease before it")
			require.Greater(t, next.Token, old.Token)
			g.Member("n1").Link.Heal()
		})
	})
}

// A leadership survives an edit of the labels. An edit of the holder or of the annotation ends it.
func TestEditedLease(t *testing.T) {
	virtually(t, 1, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		first := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
		for range 5 {
			require.NoError(t, s.Edit(keyOf(g), func(l *coordinationv1.Lease) {
				l.Labels = map[string]string{"at": time.Now().Format("150405")}
			}))
			keeps(t, g.Elector("n1"), first.Token, duration)
		}
		l, err := s.Get(keyOf(g))
		require.NoError(t, err)
		require.NotEmpty(t, l.Labels, "a renewal keeps the labels")
		token := first.Token
		for name, edit := range map[string]func(*coordinationv1.Lease){
			"other holder":  func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("x") },
			"no holder":     func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil },
			"no annotation": func(l *coordinationv1.Lease) { l.Annotations = nil },
		} {
			began := time.Now()
			require.NoError(t, s.Edit(keyOf(g), edit), name)
			state := enginetest.WaitState(t, g.Elector("n1"), func(s elector.State) bool { return !s.IsLeader })
			require.ErrorIs(t, state.Cause, elector.ErrLost, name)
			next := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
			// The duration counts from the last renewal, which is at most a third of the duration old.
			require.Greater(t, time.Since(began), duration/2, "%s: the work of another holder may run", name)
			require.Greater(t, next.Token, token, name)
			token = next.Token
		}
	})
}

// Two runs with one name are two contenders.
func TestSameName(t *testing.T) {
	virtually(t, 1, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		first := g.Member("n1")
		old := enginetest.WaitState(t, first, enginetest.IsLeader).Leader
		second := g.StartWith(g.Config("n1"), nil)
		keeps(t, first, old.Token, 3*duration)
		first.Link.Kill()
		began := time.Now()
		next := enginetest.WaitState(t, second, enginetest.IsLeader).Leader
		require.Greater(t, next.Token, old.Token)
		require.GreaterOrEqual(t, time.Since(began), duration-duration/3, "the second run does not take up the leadership of the first")
		require.NoError(t, first.Stop())
	})
}

// A Lease is released only after the work has returned.
func TestWorkIgnoresItsContext(t *testing.T) {
	virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		c := g.Config("n1")
		c.DrainTimeout = 2 * time.Second
		g.StartWith(c, nil)
		began := make(chan struct{})
		returned := make(chan error, 1)
		go func() {
			returned <- g.Elector("n1").Lead(t.Context(), func(ctx context.Context, l elector.Leadership) error {
				close(began)
				<-ctx.Done()
				time.Sleep(20 * time.Second)
				return nil
			})
		}()
		<-began
		g.Start("n2")
		enginetest.WaitState(t, g.Elector("n2"), elector.State.HasLeader)
		stopping := time.Now()
		g.Stop("n1")
		require.Equal(t, c.DrainTimeout, time.Since(stopping))
		l, err := s.Get(keyOf(g))
		require.NoError(t, err)
		require.Equal(t, "n1", *l.Spec.HolderIdentity)
		enginetest.WaitState(t, g.Elector("n2"), enginetest.IsLeader)
		require.GreaterOrEqual(t, time.Since(stopping), duration, "the Lease has expired")
		require.ErrorIs(t, <-returned, elector.ErrStopped)
	})
}

// An error that an operator must fix ends Run at its start, and not later.
func TestForbidden(t *testing.T) {
	deny := func(which func(*http.Request) bool) kubetest.Intercept {
		return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if which(r) {
				return reject(r, forbidden())
			}
			return next.RoundTrip(r)
		}
	}
	for what, which := range map[string]func(*http.Request) bool{
		"read": isRead, "update": isWrite, "create": func(r *http.Request) bool { return r.Method == http.MethodPost },
	} {
		t.Run(what, func(t *testing.T) {
			virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
				l := kubetest.NewLink()
				l.Intercept(deny(which))
				c := g.Config("n1")
				c.REST = l.Wrap(c.REST)
				e, err := inVirtualTime(c)
				require.NoError(t, err)
				err = e.Run(t.Context())
				require.ErrorContains(t, err, "kubernetes: "+what+" Lease default/"+g.Lease+": ")
				require.ErrorContains(t, err, "no role allows it")
				require.Zero(t, l.Conns(), "Run leaves no connection")
			})
		})
	}
	virtually(t, 1, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		old := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
		time.Sleep(duration)
		g.Member("n1").Link.Intercept(deny(func(*http.Request) bool { return true }))
		state := enginetest.WaitState(t, g.Elector("n1"), func(s elector.State) bool { return !s.IsLeader })
		require.ErrorIs(t, state.Cause, elector.ErrLost)
		g.Member("n1").Link.Intercept(nil)
		require.Greater(t, enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader.Token, old.Token)
		g.Stop("n1")
		require.Zero(t, g.Member("n1").Link.Conns(), "Run leaves no connection")
	})
}

// An API server that has just started forbids every request until it has read the roles, also a request that a
// contender makes for the first time.
func TestForbiddenForShortTime(t *testing.T) {
	virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		denied := make(chan struct{}) // closed when n2 has tried to take the Lease
		closeDenied := sync.OnceFunc(func() { close(denied) })
		forbid := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if !isWrite(r) {
				return next.RoundTrip(r)
			}
			if r.Method == http.MethodPut {
				closeDenied()
			}
			return reject(r, forbidden())
		}
		second := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Method == http.MethodPut {
				<-denied
			}
			return next.RoundTrip(r)
		}
		leader, m := g.StartWith(g.Config("n1"), second), g.StartWith(g.Config("n2"), forbid)
		old := enginetest.WaitState(t, leader, enginetest.IsLeader).Leader
		leader.Link.Cut() // after a LeaseDuration n2 is denied again, for a short time
		time.Sleep(duration + duration/2)
		m.Link.Intercept(nil)
		require.Greater(t, enginetest.WaitState(t, m, enginetest.IsLeader).Leader.Token, old.Token)
		leader.Link.Heal()
	})
}

// Contenders of client-go take part in the election.
func TestClientGoTakesPart(t *testing.T) {
	virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		client, err := coordination.NewForConfig(s.Config())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
		started, ended := make(chan struct{}), make(chan struct{})
		run := func(ctx context.Context) {
			plain, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: g.Lease}, Client: client,
					LockConfig: resourcelock.ResourceLockConfig{Identity: "plain"}},
				LeaseDuration: duration, RenewDeadline: 3 * time.Second, RetryPeriod: time.Second, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { started <- struct{}{} },
					OnStoppedLeading: func() {},
				},
			})
			if err != nil {
				t.Error(err)
				return
			}
			plain.Run(ctx)
			ended <- struct{}{}
		}
		go run(ctx)
		<-started
		g.Start("n1")
		state := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader)
		require.Equal(t, "plain", state.Leader.Name)
		require.EqualValues(t, 1, state.Leader.Token, "leaseTransitions and one")
		time.Sleep(3 * duration)
		now, _ := g.Elector("n1").Leader()
		require.Equal(t, state.Leader.Token, now.Token, "the holder renews its Lease")
		stop()
		<-ended
		ours := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
		require.NotEqual(t, state.Leader.Scope, ours.Scope)

		ctx, stop = context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
		go run(ctx)
		keeps(t, g.Elector("n1"), ours.Token, 4*duration)
		require.ErrorIs(t, g.Elector("n1").Resign(t.Context()), elector.ErrNoOther, "a contender of client-go answers no call")
		g.Stop("n1")
		<-started
		stop()
		<-ended
		l, err := s.Get(keyOf(g))
		require.NoError(t, err)
		require.EqualValues(t, 2, *l.Spec.LeaseTransitions)
	})
}
