package cluster

import (
	"context"
	"time"

	"github.com/elect-go/elect/tlsauth"
)

// certificateInterval is the time between two checks of this node's certificate. Each new connection checks it too, but
// a cluster at rest makes no connections.
const certificateInterval = time.Minute

// watchCertificate updates n.cert, and warns before the certificate of this node ends. It does not run on the loop,
// because reading the file may wait for the file system.
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

// dueWarnings returns the number of due warnings about the end of a certificate: 30, 7 and 1 days before the end, and
// at the end. A certificate that is valid for less than some months is usually renewed later than that. Its warnings
// are due when a quarter, an eighth and a sixteenth of its validity are left, so that not every renewal has warnings.
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
