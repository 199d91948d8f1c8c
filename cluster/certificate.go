package cluster

import (
	"context"
	"time"

	"github.com/elect-go/elect/tlsauth"
)

// certificateInterval is the time between two looks at the certificate of this node. Connections look at it as well, but a
// cluster at rest makes none.
const certificateInterval = time.Minute

// watchCertificate keeps n.cert, what is known of the certificate of this node, and warns before it ends. A look may wait for
// the file system, so it does not belong to the loop.
func (n *Node) watchCertificate(ctx context.Context) {
	var last tlsauth.Identity
	warned := 0
	for {
		self := n.endpoint.Self()
		n.cert.Store(&self)
		if !self.Until.Equal(last.Until) {
			last, warned = self, 0
		}
		if due := dueWarnings(self, time.Now()); due > warned {
			warned = due
			n.warnOfCertificate(time.Now())
		}
		select {
		case <-time.After(certificateInterval):
		case <-ctx.Done():
			return
		}
	}
}

// dueWarnings returns how many warnings of the end of a certificate are due: 30, 7 and 1 days before it, and at the end.
// One that is valid for less than some months is renewed later, so that it has no warning at each renewal: they come
// when a quarter, an eighth and a sixteenth of its life are left.
func dueWarnings(c tlsauth.Identity, now time.Time) (due int) {
	const day = 24 * time.Hour
	life, left := c.Until.Sub(c.Since), c.Until.Sub(now)
	for _, ahead := range []time.Duration{min(30*day, life/4), min(7*day, life/8), min(day, life/16), -1} {
		if left <= ahead {
			due++
		}
	}
	return due
}

func (n *Node) warnOfCertificate(now time.Time) {
	self := n.cert.Load()
	about := []any{"file", n.config.TLS.Cert, "ends", self.Until.UTC().Format(time.RFC3339)}
	if !self.IsValid(now) {
		n.log.Error("own certificate has ended: no other node accepts it, renew the file", about...)
		return
	}
	n.log.Warn("own certificate ends soon: renew the file", append(about, "left", self.Until.Sub(now).Round(time.Minute))...)
}

// certificateEnd returns when the certificate of this node ends; zero without one.
func (n *Node) certificateEnd() time.Time {
	if self := n.cert.Load(); self != nil {
		return self.Until.Local()
	}
	return time.Time{}
}
