package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/tlsauth"
)

// endReport is the data with which the watchdog reports the end of this process to the other members.
type endReport struct {
	End     cluster.End
	Members []string      // addresses of the other members
	Timeout time.Duration // after which the report is of no use
	Access  *tlsauth.Config
}

// release returns the report for the leadership l, as the watchdog gets it. It does not wait for the node, because
// the deadline of the command is renewed with it.
func (m *memberContender) release(l elector.Leadership) []byte {
	report := endReport{Timeout: m.lease, Access: m.access}
	report.End, report.Members = m.node.End(cluster.Leadership{Cluster: l.Scope, Epoch: algo.Epoch(l.Token)})
	text, err := json.Marshal(report)
	if err != nil {
		panic(err) // it consists of texts and numbers
	}
	return text
}

// notReported is the log line of a report that has failed: to one member, or to all.
const notReported = "the end of this member was not reported"

// reportEnd reports to all members at once, and returns when all have replied. A member that cannot be reached waits
// for the end of the lease.
func reportEnd(text []byte, log *slog.Logger) {
	var r endReport
	var client client.Client
	err := json.Unmarshal(text, &r)
	if err == nil && r.Access != nil {
		client.Secure, err = tlsauth.New(*r.Access)
	}
	if err != nil {
		log.Warn(notReported, "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.Timeout)
	defer cancel()
	var all sync.WaitGroup
	for _, addr := range r.Members {
		all.Go(func() {
			if err := client.ReportEnd(ctx, addr, r.End); err != nil {
				log.Warn(notReported, "error", err)
			}
		})
	}
	all.Wait()
}
