package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/kubernetes"
	"github.com/elect-go/elect/elector/kubernetes/internal/kubetest"
)

// ledger records the work of all contenders in a random run.
type ledger struct {
	mu      sync.Mutex
	entries []*entry
}

// entry is the work of one leadership.
type entry struct {
	elector.Leadership
	first, last time.Time // first and last time at which ctx had not ended
}

// work records a leadership, and works until ctx ends.
func (l *ledger) work(ctx context.Context, leadership elector.Leadership) error {
	e := &entry{Leadership: leadership}
	l.mu.Lock()
	l.entries = append(l.entries, e)
	l.mu.Unlock()
	for ctx.Err() == nil {
		l.mu.Lock()
		if ctx.Err() == nil {
			if e.last = time.Now(); e.first.IsZero() {
				e.first = e.last
			}
		}
		l.mu.Unlock()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

// check requires that no two leaderships overlapped, and that their tokens rose.
func (l *ledger) check(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	worked := slices.DeleteFunc(slices.Clone(l.entries), func(e *entry) bool { return e.first.IsZero() })
	slices.SortStableFunc(worked, func(a, b *entry) int { return a.first.Compare(b.first) })
	require.Greater(t, len(worked), 3, "the faults change the leader")
	for i, later := range worked {
		for _, earlier := range worked[:i] {
			require.False(t, later.first.Before(earlier.last), "%s with token %d began at %v, and %s with token %d worked until %v",
				later.Name, later.Token, later.first, earlier.Name, earlier.Token, earlier.last)
			require.Greater(t, later.Token, earlier.Token, "%s after %s", later.Name, earlier.Name)
			require.Equal(t, earlier.Scope, later.Scope)
		}
	}
}

// Contenders with clocks of different rates suffer random faults from a seed. No two ever work at once, tokens rise,
// and after the faults one contender leads.
func TestRandomFaults(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runRandomly(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func runRandomly(t *testing.T, rng *rand.Rand) {
	host := kubetest.NewLocal(t)
	rates := []float64{0.955, 1, 1.045} // they differ by less than a tenth
	var made int
	g := kubetest.NewGroup(t, host, func(c kubernetes.Config) (*kubernetes.Elector, error) {
		made++
		return withRate(c, rates[(int(c.Name[1])+made/8)%len(rates)])
	}, 3)
	history := &ledger{}
	ctx, stop := context.WithCancel(t.Context())
	var works sync.WaitGroup
	work := func(name string) {
		e := g.Elector(name)
		works.Go(func() {
			for ctx.Err() == nil {
				if err := e.Lead(ctx, history.work); err != nil {
					return
				}
			}
		})
	}
	for _, name := range g.Names() {
		work(name)
	}
	cut := make(map[string]bool)
	heal := func(name string) {
		if cut[name] {
			g.Member(name).Link.Heal()
			delete(cut, name)
		}
		g.Member(name).Link.Intercept(nil)
	}
	for range 100 {
		time.Sleep(time.Duration(rng.Int64N(int64(duration))))
		name := g.Names()[rng.IntN(len(g.Names()))]
		switch rng.IntN(12) {
		case 0:
			if !cut[name] {
				g.Member(name).Link.Cut()
				cut[name] = true
			}
		case 1, 2:
			heal(name)
		case 3:
			host.Kill()
			time.Sleep(time.Duration(rng.Int64N(int64(2 * duration))))
			host.Start()
		case 4:
			_ = host.Delete(keyOf(g)) // there may be none
		case 5:
			host.Compact()
		case 6: // some answers are lost, some requests do not arrive, and some wait
			local := rand.New(rand.NewPCG(rng.Uint64(), 1))
			var mu sync.Mutex
			g.Member(name).Link.Intercept(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				mu.Lock()
				kind, pause := local.IntN(4), time.Duration(local.Int64N(int64(duration/4)))
				mu.Unlock()
				switch kind {
				case 0:
					return loseAnswer(r, next)
				case 1:
					return nil, errors.New("the request was lost")
				case 2:
					time.Sleep(pause)
					defer time.Sleep(pause)
				}
				return next.RoundTrip(r)
			})
		case 7:
			heal(name)
			g.Stop(name)
			g.Start(name)
			work(name)
		case 8:
			heal(name)
			g.Member(name).Link.Kill()
			_ = g.Member(name).Stop()
			g.Start(name)
			work(name)
		case 9:
			e := g.Elector(name)
			works.Go(func() { _ = e.Resign(ctx) })
		case 10:
			_ = host.Edit(keyOf(g), func(l *coordinationv1.Lease) {
				l.Labels = map[string]string{"random": strings.Repeat("x", rng.IntN(9))}
			})
		}
	}
	for _, name := range g.Names() {
		heal(name)
	}
	agree(t, g)
	stop()
	for _, name := range g.Names() {
		g.Stop(name)
	}
	works.Wait()
	history.check(t)
}
