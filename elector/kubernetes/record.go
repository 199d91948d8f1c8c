package kubernetes

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elect-go/elect/elector"
)

// annotation is the key of the annotation that holds the record.
const annotation = "elect-go.github.io/leadership"

// record is what the annotation adds to the spec of a Lease. Its first three fields tie it to the Lease and to the
// spec: contenders of client-go keep annotations when they take a Lease.
type record struct {
	Lease       types.UID `json:"lease"`       // metadata.uid
	Holder      string    `json:"holder"`      // spec.holderIdentity
	Transitions int32     `json:"transitions"` // spec.leaseTransitions

	Contender string            `json:"contender"` // the run of a contender that holds the Lease, or has released it
	Token     uint64            `json:"token"`
	Meta      map[string]string `json:"meta,omitempty"`
	// Released is set after the work of the holder has returned. Without it the work of another holder may run.
	Released bool `json:"released,omitempty"`
	// Call is the ID of a resignation. The holder asks with it whether another contender is there.
	Call string `json:"call,omitempty"`
	// Answer is the run of the contender that has answered the call.
	Answer string `json:"answer,omitempty"`
}

// version is one version of a Lease. Without a Lease, lease is nil.
type version struct {
	lease  *coordinationv1.Lease // never changed
	number uint64                // the resource version
	record record                // zero if it does not fit the Lease
}

// parse returns the version that a Lease shows. It fails if the resource version is no number.
func parse(l *coordinationv1.Lease) (version, error) {
	number, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
	if err != nil || number == 0 {
		return version{}, fmt.Errorf("the resource version of the Lease is %q, want a positive integer", l.ResourceVersion)
	}
	v := version{lease: l, number: number}
	var r record
	if json.Unmarshal([]byte(l.Annotations[annotation]), &r) == nil &&
		r.Lease == l.UID && r.Holder == v.holder() && r.Transitions == v.transitions() && r.Contender != "" && r.Token != 0 {
		v.record = r
	}
	return v, nil
}

// field returns what p points to; the zero value if p is nil.
func field[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// spec returns the spec; an empty one if there is no Lease.
func (v version) spec() coordinationv1.LeaseSpec {
	if v.lease == nil {
		return coordinationv1.LeaseSpec{}
	}
	return v.lease.Spec
}

func (v version) holder() string     { return field(v.spec().HolderIdentity) }
func (v version) transitions() int32 { return field(v.spec().LeaseTransitions) }

// duration returns the time for which others leave the Lease to its holder.
func (v version) duration(otherwise time.Duration) time.Duration {
	if seconds := field(v.spec().LeaseDurationSeconds); seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return otherwise
}

// isHeldBy reports whether a run of a contender holds the Lease with a token.
func (v version) isHeldBy(contender string, token uint64) bool {
	return v.record.Contender == contender && v.record.Token == token && !v.record.Released
}

// shows reports whether the version is what a write has made of the Lease. Each write has a time of its own, except for
// the answer to a call, which changes the annotation.
func (v version) shows(written *coordinationv1.Lease) bool {
	return v.lease != nil && v.lease.Annotations[annotation] == written.Annotations[annotation] && v.spec().RenewTime.Equal(written.Spec.RenewTime)
}

// renews reports whether the holder has written between two versions, or the Lease is another one. A change of the
// annotations alone is no renewal: anyone may cause it.
func (v version) renews(old version) bool {
	if (v.lease == nil) != (old.lease == nil) {
		return true
	}
	if v.lease == nil {
		return false
	}
	a, b := v.spec(), old.spec()
	return v.lease.UID != old.lease.UID || v.holder() != old.holder() || v.transitions() != old.transitions() ||
		v.record.Released != old.record.Released || field(a.LeaseDurationSeconds) != field(b.LeaseDurationSeconds) ||
		!a.RenewTime.Equal(b.RenewTime) || !a.AcquireTime.Equal(b.AcquireTime)
}

// leadership returns the leader that the version shows, in the scopes of the election; empty if it shows none.
func (v version) leadership(scope func(of string) [16]byte) elector.Leadership {
	switch {
	case v.holder() == "":
		return elector.Leadership{}
	case v.record.Token != 0:
		return elector.Leadership{Name: v.holder(), Token: v.record.Token, Scope: scope(""), Meta: maps.Clone(v.record.Meta)}
	default: // a contender of client-go
		return elector.Leadership{Name: v.holder(), Token: uint64(max(0, v.transitions())) + 1, Scope: scope(string(v.lease.UID))}
	}
}

// scopeOf returns the function for the scopes of an election: "" for the tokens of this package, and the UID of a
// Lease for the number of its transitions.
func scopeOf(c Config) func(of string) [16]byte {
	return func(of string) (scope [16]byte) {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", c.Cluster, c.Namespace, c.Lease, of))
		copy(scope[:], sum[:])
		return scope
	}
}

// draft is a Lease that is about to be written.
type draft struct {
	lease  *coordinationv1.Lease
	record record
}

// draft returns a copy of the version to change. It has the UID and the resource version: the API server rejects the
// write if the Lease has changed. Without the UID a write to a deleted Lease would create one.
func (v version) draft() draft { return draft{v.lease.DeepCopy(), v.record} }

// set sets the spec, and the record that belongs to it.
func (d draft) set(holder string, transitions int32, duration time.Duration, r record) {
	seconds := int32(duration / time.Second)
	d.lease.Spec.HolderIdentity, d.lease.Spec.LeaseTransitions, d.lease.Spec.LeaseDurationSeconds = &holder, &transitions, &seconds
	r.Lease, r.Holder, r.Transitions = d.lease.UID, holder, transitions
	d.annotate(r)
}

func (d draft) annotate(r record) {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers are always encoded
	}
	if d.lease.Annotations == nil {
		d.lease.Annotations = make(map[string]string)
	}
	d.lease.Annotations[annotation] = string(text)
}

// touch sets the time of the renewal. It always rises, because contenders recognize a renewal by its change.
func (d draft) touch(now time.Time) {
	renewed := metav1.NewMicroTime(now.Truncate(time.Microsecond))
	if last := d.lease.Spec.RenewTime; last != nil && !last.Before(&renewed) {
		renewed = metav1.NewMicroTime(last.Add(time.Microsecond))
	}
	d.lease.Spec.RenewTime = &renewed
}

// vacantLease returns a Lease to create, which has no holder. Each contender waits for its duration: there may have
// been another Lease before it.
func vacantLease(c Config, now time.Time) *coordinationv1.Lease {
	d := draft{lease: &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Lease}}}
	seconds := int32(c.LeaseDuration / time.Second)
	d.lease.Spec.LeaseDurationSeconds = &seconds
	d.touch(now)
	return d.lease
}

// takeover returns the Lease with which a run of a contender takes this version. The token is the number of the
// version.
func (v version) takeover(c Config, contender string, now time.Time) *coordinationv1.Lease {
	d := v.draft()
	d.touch(now)
	acquired := *d.lease.Spec.RenewTime
	d.lease.Spec.AcquireTime = &acquired
	d.set(c.Name, v.transitions()+1, c.LeaseDuration, record{Contender: contender, Token: v.number, Meta: c.Meta})
	return d.lease
}

// renewal returns the Lease with which its holder renews this version, with the call of a resignation or without one.
func (v version) renewal(c Config, call string, now time.Time) *coordinationv1.Lease {
	d := v.draft()
	d.touch(now)
	r := d.record
	if r.Call != call {
		r.Call, r.Answer = call, ""
	}
	d.set(v.holder(), v.transitions(), c.LeaseDuration, r)
	return d.lease
}

// release returns the Lease with which its holder releases this version. As with client-go, it has no holder and the
// shortest duration.
func (v version) release(now time.Time) *coordinationv1.Lease {
	d := v.draft()
	d.touch(now)
	d.set("", v.transitions(), time.Second, record{Contender: d.record.Contender, Token: d.record.Token, Released: true})
	return d.lease
}

// answer returns the Lease with which a run of a contender answers the call in this version.
func (v version) answer(contender string) *coordinationv1.Lease {
	d := v.draft()
	r := d.record
	r.Answer = contender
	d.annotate(r)
	return d.lease
}
