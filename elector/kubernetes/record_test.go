package kubernetes

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elect-go/elect/elector"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)

// store returns l as a server stores it, with a resource version.
func store(t *testing.T, l *coordinationv1.Lease, number uint64) version {
	t.Helper()
	l = l.DeepCopy()
	if l.UID == "" {
		l.UID = "u1"
	}
	l.ResourceVersion = strconv.FormatUint(number, 10)
	v, err := parse(l)
	require.NoError(t, err)
	return v
}

func TestVersions(t *testing.T) {
	c := Config{Namespace: "default", Lease: "l", Name: "n1", LeaseDuration: 5 * time.Second, Meta: map[string]string{"k": "v"}}
	scope := scopeOf(c)
	empty := store(t, vacantLease(c, noon), 7)
	require.Equal(t, 5*time.Second, empty.duration(time.Hour))
	require.Equal(t, elector.Leadership{}, empty.leadership(scope))

	held := store(t, empty.takeover(c, "run1", noon), 9)
	require.True(t, held.isHeldBy("run1", 7))
	require.False(t, held.isHeldBy("run2", 7))
	require.False(t, held.isHeldBy("run1", 8))
	require.Equal(t, elector.Leadership{Name: "n1", Token: 7, Scope: scope(""), Meta: c.Meta}, held.leadership(scope))
	require.EqualValues(t, 1, held.transitions())
	require.True(t, held.renews(empty))

	// The wall clock may be set back.
	renewed := store(t, held.renewal(c, "", noon.Add(-time.Hour)), 10)
	require.True(t, renewed.renews(held))
	require.True(t, held.spec().RenewTime.Before(renewed.spec().RenewTime))
	require.True(t, renewed.isHeldBy("run1", 7))
	require.True(t, renewed.spec().AcquireTime.Equal(held.spec().AcquireTime))

	called := store(t, renewed.renewal(c, "call1", noon), 11)
	require.Equal(t, "call1", called.record.Call)
	answered := store(t, called.answer("run2"), 12)
	require.Equal(t, "run2", answered.record.Answer)
	require.False(t, answered.renews(called), "an answer is no renewal")
	require.True(t, answered.isHeldBy("run1", 7))
	require.Equal(t, "run2", store(t, answered.renewal(c, "call1", noon), 13).record.Answer)
	require.Empty(t, store(t, answered.renewal(c, "", noon), 13).record.Answer)
	require.Empty(t, store(t, answered.renewal(c, "call2", noon), 13).record.Answer)

	released := store(t, answered.release(noon), 14)
	require.True(t, released.record.Released)
	require.False(t, released.isHeldBy("run1", 7))
	require.Equal(t, elector.Leadership{}, released.leadership(scope))
	require.Equal(t, time.Second, released.duration(time.Hour))

	next := store(t, released.takeover(c, "run2", noon), 15)
	require.EqualValues(t, 14, next.record.Token)
	require.EqualValues(t, 2, next.transitions())
}

// A record counts only with the Lease and the spec for which it was written.
func TestRecordOfAnotherSpec(t *testing.T) {
	c := Config{Namespace: "default", Lease: "l", Name: "n1", LeaseDuration: 5 * time.Second}
	empty := store(t, vacantLease(c, noon), 7)
	held := store(t, empty.takeover(c, "run1", noon), 9)
	for name, edit := range map[string]func(*coordinationv1.Lease){
		"another Lease":     func(l *coordinationv1.Lease) { l.UID = "u2" },
		"another holder":    func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("plain") },
		"a takeover":        func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = new(int32(2)) },
		"no annotation":     func(l *coordinationv1.Lease) { l.Annotations = nil },
		"a foreign text":    func(l *coordinationv1.Lease) { l.Annotations[annotation] = "{" },
		"an empty record":   func(l *coordinationv1.Lease) { l.Annotations[annotation] = "{}" },
		"no spec":           func(l *coordinationv1.Lease) { l.Spec = coordinationv1.LeaseSpec{} },
		"a negative number": func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = new(int32(-1)) },
	} {
		l := held.lease.DeepCopy()
		edit(l)
		v := store(t, l, 10)
		require.Zero(t, v.record, name)
		require.Equal(t, v.holder() == "", v.leadership(scopeOf(c)).Token == 0, name)
		require.NotEqual(t, scopeOf(c)(""), v.leadership(scopeOf(c)).Scope, name)
	}
}

func TestRenews(t *testing.T) {
	c := Config{Namespace: "default", Lease: "l", Name: "n1", LeaseDuration: 5 * time.Second}
	empty := store(t, vacantLease(c, noon), 7)
	held := store(t, empty.takeover(c, "run1", noon), 9)
	for name, test := range map[string]struct {
		edit func(*coordinationv1.Lease)
		want bool
	}{
		"nothing":    {func(*coordinationv1.Lease) {}, false},
		"a label":    {func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} }, false},
		"the time":   {func(l *coordinationv1.Lease) { l.Spec.RenewTime = &metav1.MicroTime{Time: noon.Add(time.Second)} }, true},
		"another":    {func(l *coordinationv1.Lease) { l.UID = "u2" }, true},
		"its length": {func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(9)) }, true},
		"its holder": {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }, true},
	} {
		l := held.lease.DeepCopy()
		test.edit(l)
		require.Equal(t, test.want, store(t, l, 10).renews(held), name)
	}
	require.True(t, held.renews(version{}))
	require.True(t, version{}.renews(held))
	require.False(t, version{}.renews(version{}))
}

func TestResourceVersionIsNumber(t *testing.T) {
	for _, number := range []string{"", "0", "x", "-1", "18446744073709551616"} {
		_, err := parse(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: number}})
		require.EqualError(t, err, `the resource version of the Lease is "`+number+`", want a positive integer`)
	}
}

// A change of the labels is no renewal.
func TestLabelsKeepNoLeaseAlive(t *testing.T) {
	c := Config{Namespace: "default", Lease: "l", Name: "n1", LeaseDuration: 5 * time.Second}
	now := time.Duration(0)
	l := newLease(c, func() time.Duration { return now }, func(elector.Leadership) {})
	defer l.stop()
	held := store(t, store(t, vacantLease(c, noon), 7).takeover(c, "run1", noon), 9)
	l.update(held)
	now = 2 * time.Second
	labelled := held.lease.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	l.update(store(t, labelled, 10))
	require.True(t, l.get().since == 0 && l.get().number == 10)
	l.update(store(t, l.get().renewal(c, "", noon), 11))
	require.Equal(t, now, l.get().since)
}

// A version that is older than the current one is ignored, unless no other was read for the lease duration.
func TestOlderVersions(t *testing.T) {
	c := Config{Namespace: "default", Lease: "l", Name: "n1", LeaseDuration: 5 * time.Second}
	now := time.Duration(0)
	l := newLease(c, func() time.Duration { return now }, func(elector.Leadership) {})
	defer l.stop()
	first := store(t, vacantLease(c, noon), 7)
	second := store(t, first.takeover(c, "run1", noon), 9)
	l.update(second)
	require.True(t, l.get().since == 0 && l.get().number == 9)
	now = time.Second
	l.update(first)
	require.EqualValues(t, 9, l.get().number, "an old version")
	l.update(second)
	require.Zero(t, l.get().since, "the same version is no renewal")
	now = 3 * time.Second
	l.observeNone(500 * time.Millisecond)
	require.NotNil(t, l.get().version.lease, "a request that began before the last reading")
	require.NoError(t, l.observeDeleted(first.lease))
	require.NotNil(t, l.get().version.lease, "an old deletion")
	now = 5 * time.Second
	l.update(first)
	require.EqualValues(t, 9, l.get().number, "the last reading was 4 s ago")
	now = 6 * time.Second
	l.update(first)
	require.EqualValues(t, 7, l.get().number, "a backup was restored")
	require.Equal(t, now, l.get().since)
	l.observeNone(now)
	require.Nil(t, l.get().version.lease)
	l.update(first)
	require.Nil(t, l.get().version.lease, "a version before the deletion")
	l.update(store(t, vacantLease(c, noon), 9))
	require.EqualValues(t, 9, l.get().number)
}
