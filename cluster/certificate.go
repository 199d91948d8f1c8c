package cluster

import (
	"context"
	"time"

	"github.com/elect-go/elect/tlsauth"
)

// watchCertificate updates n.cert, and warns before the certificate of this node ends. It does not run on the loop,
// because reading the file may wait for the file system.
func (n *Node) watchCertificate(ctx context.Context) {
	self := func() tlsauth.Identity {
		self := n.endpoint.Self()
		n.cert.Store(&self)
		return self
	}
	tlsauth.WatchExpiry(ctx, self, n.warnOfCertificate)
}

func (n *Node) warnOfCertificate(self tlsauth.Identity, now time.Time) {
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
