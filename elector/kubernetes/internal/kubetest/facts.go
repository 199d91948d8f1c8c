package kubetest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// CheckServer checks what package kubernetes depends on. It passes with Server and with the API server of Kubernetes,
// so the two do the same.
func CheckServer(t *testing.T, h Host) {
	clients, err := coordination.NewForConfig(h.Config())
	require.NoError(t, err)
	leases := clients.Leases("default")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	version := func(l *coordinationv1.Lease) uint64 {
		t.Helper()
		n, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
		require.NoError(t, err)
		return n
	}
	update := func(l *coordinationv1.Lease, edit func(*coordinationv1.Lease)) (*coordinationv1.Lease, error) {
		l = l.DeepCopy()
		edit(l)
		return leases.Update(ctx, l, metav1.UpdateOptions{})
	}
	holder := func(name string) func(*coordinationv1.Lease) {
		return func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = &name }
	}
	fresh := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "facts"}}

	_, err = leases.Get(ctx, "facts", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "read what does not exist: %v", err)
	first, err := leases.Create(ctx, fresh, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, first.UID)
	_, err = leases.Create(ctx, fresh, metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), "create twice: %v", err)

	second, err := update(first, holder("a"))
	require.NoError(t, err)
	require.Greater(t, version(second), version(first))
	_, err = update(first, holder("b"))
	require.True(t, apierrors.IsConflict(err), "write with an old version: %v", err)
	_, err = update(second, func(l *coordinationv1.Lease) { l.ResourceVersion = "" })
	require.True(t, apierrors.IsInvalid(err), "write without a version: %v", err)
	_, err = update(second, func(l *coordinationv1.Lease) { l.UID = "00000000-0000-0000-0000-000000000000" })
	require.True(t, apierrors.IsConflict(err), "write with another UID: %v", err)
	_, err = update(second, func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(0)) })
	require.True(t, apierrors.IsInvalid(err), "write an impossible duration: %v", err)
	same, err := update(second, func(*coordinationv1.Lease) {})
	require.NoError(t, err)
	require.Equal(t, second.ResourceVersion, same.ResourceVersion, "a write without a change")
	micro := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC))
	third, err := update(second, func(l *coordinationv1.Lease) { l.Spec.RenewTime = &micro })
	require.NoError(t, err)
	require.True(t, third.Spec.RenewTime.Equal(&micro), "the API keeps microseconds")

	require.NoError(t, leases.Delete(ctx, "facts", metav1.DeleteOptions{}))
	_, err = update(third, holder("c"))
	require.True(t, apierrors.IsConflict(err), "write to a deleted Lease, with its UID: %v", err)
	_, err = leases.Get(ctx, "facts", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "the write has created nothing: %v", err)
	fourth, err := leases.Create(ctx, fresh, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Greater(t, version(fourth), version(third)+1, "the deletion has a version, too")
	require.NotEqual(t, third.UID, fourth.UID)
	_, err = update(third, holder("c"))
	require.True(t, apierrors.IsConflict(err), "write to the Lease before: %v", err)

	events := func(from string, n int) (got []watch.Event) {
		t.Helper()
		w, err := leases.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=facts", ResourceVersion: from, AllowWatchBookmarks: true})
		if err != nil {
			return []watch.Event{{Type: watch.Error, Object: &err.(*apierrors.StatusError).ErrStatus}}
		}
		defer w.Stop()
		for e := range w.ResultChan() {
			if e.Type != watch.Bookmark {
				got = append(got, e)
			}
			if len(got) == n || e.Type == watch.Error {
				break
			}
		}
		return got
	}
	got := events(second.ResourceVersion, 3)
	var kinds []watch.EventType
	last := version(second)
	for _, e := range got {
		kinds = append(kinds, e.Type)
		require.Greater(t, version(e.Object.(*coordinationv1.Lease)), last)
		last = version(e.Object.(*coordinationv1.Lease))
	}
	require.Equal(t, []watch.EventType{watch.Modified, watch.Deleted, watch.Added}, kinds)
	require.Equal(t, version(fourth), last)
	got = events("", 1)
	require.Equal(t, watch.Added, got[0].Type, "a watch without a version begins with what there is")
	require.Equal(t, version(fourth), version(got[0].Object.(*coordinationv1.Lease)))

	h.Kill()
	h.Start()
	again, err := leases.Get(ctx, "facts", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, fourth.ResourceVersion, again.ResourceVersion, "a restart changes no version")
	got = events(first.ResourceVersion, 1)
	require.Equal(t, watch.Error, got[0].Type, "%+v", got)
	err = apierrors.FromObject(got[0].Object)
	require.True(t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "watch from a version before the restart: %v", err)
	require.NoError(t, leases.Delete(ctx, "facts", metav1.DeleteOptions{}))
}
