package contender

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/elector"
)

// yielded is one result of an iteration.
type yielded struct {
	token uint64
	err   string
}

// observe returns the results of Observe while read drives the observer. It ends when read has returned.
func observe(t *testing.T, read func(o *Observer)) (all []yielded) {
	started := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	now := func() time.Duration { return time.Since(started) }
	Observe(ctx, 10*time.Second, now, func(_ context.Context, o *Observer) {
		read(o)
		synctest.Wait()
		stop()
	}, func(l elector.Leadership, err error) bool {
		all = append(all, yielded{l.Token, text(err)})
		return true
	})
	return all
}

func TestObserver(t *testing.T) {
	gone := errors.New("gone")
	for name, test := range map[string]struct {
		read func(o *Observer)
		want []yielded
	}{
		"nothing before the first answer": {func(o *Observer) { o.Show(other) }, nil},
		"vacancy is a state":              {func(o *Observer) { o.Report(nil) }, []yielded{{}}},
		"each leader once": {func(o *Observer) {
			for _, l := range []elector.Leadership{own, own, other, {}} {
				o.Show(l)
				o.Report(nil)
				synctest.Wait()
			}
		}, []yielded{{token: 3}, {token: 5}, {}}},
		"an error that does not last": {func(o *Observer) {
			o.Show(own)
			for range 2 {
				o.Report(nil)
				time.Sleep(9 * time.Second)
				o.Report(gone)
			}
		}, []yielded{{token: 3}}},
		"an error that lasts": {func(o *Observer) {
			o.Show(own)
			o.Report(nil)
			for range 3 {
				time.Sleep(10 * time.Second)
				o.Report(gone)
				synctest.Wait()
			}
			o.Show(elector.Leadership{})
			synctest.Wait()
			o.Show(own)
			o.Report(nil)
		}, []yielded{{token: 3}, {err: "gone"}, {token: 3}}},
		"no answer at all": {func(o *Observer) {
			time.Sleep(10 * time.Second)
			o.Report(gone)
		}, []yielded{{err: "gone"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { require.Equal(t, test.want, observe(t, test.read)) })
		})
	}
}

func TestObserverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs []string
		Observe(t.Context(), time.Second, Now, func(_ context.Context, o *Observer) {
			o.End(errors.New("forbidden"))
		}, func(_ elector.Leadership, err error) bool {
			errs = append(errs, text(err))
			return true
		})
		require.Equal(t, []string{"forbidden"}, errs)
	})
}

func TestSlowReaderSkipsAllButLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tokens []uint64
		Observe(t.Context(), time.Second, Now, func(_ context.Context, o *Observer) {
			o.Report(nil)
			for token := uint64(1); token <= 9; token++ {
				time.Sleep(time.Second)
				o.Show(elector.Leadership{Name: "n2", Token: token})
			}
		}, func(l elector.Leadership, _ error) bool {
			tokens = append(tokens, l.Token)
			time.Sleep(5500 * time.Millisecond)
			return l.Token < 9
		})
		require.Equal(t, []uint64{0, 5, 9}, tokens)
	})
}
