package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/web"
)

// limits of the HTTP server
const (
	maxOnlookers = 512 // connections: the node needs files for its own
	maxHeaders   = 16 << 10
	lookTime     = 10 * time.Second // for a request, and for an answer that is no stream
	idleTime     = time.Minute
	partingTime  = time.Second // for the last event
)

// checkHTTP notes a mistake if other machines could connect: the HTTP server does not authenticate its clients.
func checkHTTP(s *confload.Settings) {
	for _, e := range s.Effective() {
		if at, err := netip.ParseAddrPort(s.HTTP); e.Field.Name == "http" && s.HTTP != "" && (err != nil || !at.Addr().IsLoopback()) {
			s.Mistakes.Add(&algo.SettingError{Field: "http", Origin: e.Origin, Got: diag.Quote(s.HTTP), Want: "an address of the loopback, such as " +
				"127.0.0.1:7480: HTTP clients are not authenticated, so clients on other machines need a proxy that authenticates them"})
		}
	}
}

// run runs a node and its HTTP server.
func run(ctx context.Context, s *confload.Settings, n *cluster.Node, log *slog.Logger) error {
	stop, err := serve(s.HTTP, n, log)
	if err != nil {
		return err
	}
	defer stop()
	defer notifyService(ctx, n)()
	return ofConfiguration(s, n.Run(ctx))
}

// serve starts the HTTP server of n, if addr is not empty. The returned function stops the server and waits for its
// end.
func serve(addr string, n *cluster.Node, log *slog.Logger) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	host, _, _ := net.SplitHostPort(addr) // net.Listen has accepted addr
	ctx, end := context.WithCancel(context.Background())
	server := &http.Server{
		Handler:     web.AllowHosts(web.New(ctx, n), host),
		ReadTimeout: lookTime, WriteTimeout: lookTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaders,
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnState: newOnlookers(maxOnlookers).note,
	}
	log.Info("http", "addr", l.Addr().String())
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("http has ended", "error", err) // the node keeps running
		}
	}()
	return func() {
		parting, done := context.WithTimeout(context.Background(), partingTime)
		defer done()
		_ = server.Shutdown(parting) // the streams end with the node
		end()
		_ = server.Close()
		<-served
	}, nil
}
