package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/resident"
	"github.com/elect-go/elect/tlsauth"
	"github.com/elect-go/elect/web"
)

// limits of the HTTP server
const (
	maxHTTPConns    = 512 // connections: the node needs files for its own
	maxHeaders      = 16 << 10
	requestTimeout  = 10 * time.Second // for a request, and for an answer that is no stream
	idleTimeout     = time.Minute
	shutdownTimeout = time.Second // for the last event

	replacedInterval = 10 * time.Second // between two checks of the files of the server for a stream
)

// run runs a node and its HTTP server.
func run(ctx context.Context, s *confload.Settings, n *cluster.Node, log *slog.Logger) error {
	stop, err := serve(ctx, s.HTTPServer(), n, log)
	if err != nil {
		return err
	}
	defer stop()
	defer notifyService(ctx, n)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go releaseMemory(ctx, n)
	return asUsageError(s, n.Run(ctx))
}

// releaseMemory returns the memory of the start to the system, once n knows of a leader: then n has done most of what
// only a start does.
func releaseMemory(ctx context.Context, n *cluster.Node) {
	for s := range n.Watch(ctx) {
		if s.HasLeader() {
			resident.Release()
			return
		}
	}
}

// serve starts the HTTP server of n, if its address is not empty. The returned function stops the server and waits for
// its end. The end of ctx only ends the wait for a file system that does not answer.
func serve(ctx context.Context, how confload.HTTPServer, n *cluster.Node, log *slog.Logger) (stop func(), err error) {
	if how.Addr == "" {
		return func() {}, nil
	}
	var https *tlsauth.HTTPS
	if how.TLS != nil {
		how.TLS.Log = log
		open := func() (*tlsauth.HTTPS, error) { return tlsauth.NewHTTPS(*how.TLS) }
		if https, err = disk.Await(ctx, open, func(*tlsauth.HTTPS) {}); err != nil {
			return nil, cleanExit(ctx, fmt.Errorf("http: %w", err))
		}
	}
	l, err := net.Listen("tcp", how.Addr)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	log.Info("HTTP server started", "addr", l.Addr().String(), "tls", https != nil)
	ctx, stopSite := context.WithCancel(context.Background())
	site := web.New(ctx, n)
	var (
		handler     http.Handler = site
		connContext func(context.Context, net.Conn) context.Context
	)
	switch {
	case https != nil:
		// A browser rejects this certificate under the name of another website, so the host needs no check.
		l, handler = https.Listen(l, how.IsHealthPublic), requireCertificate(handler, https, how.IsHealthPublic)
		if !how.KeepsConnections {
			connContext, handler = https.ConnContext, endReplaced(handler, https.IsReplaced)
		}
		if how.HasOwnFiles() {
			site.ShowCertificateEnd(func() time.Time { return https.Self().Until })
			go tlsauth.WatchExpiry(ctx, https.Self, func(self tlsauth.Identity, now time.Time) { warnOfExpiry(log, how.TLS.TLS.Cert, self, now) })
		}
	case how.IsOpen:
		log.Warn("http_insecure: every client that reaches this node, and every website in its browser, reads the status")
	default:
		host, _, _ := net.SplitHostPort(how.Addr) // net.Listen has accepted it
		handler = web.AllowHosts(handler, host)
	}
	server := &http.Server{
		Handler:     handler,
		ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaders,
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnState: newHTTPConns(maxHTTPConns).setState, ConnContext: connContext,
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("HTTP server failed", "error", err) // the node keeps running
		}
	}()
	return func() {
		shutdownCtx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		_ = server.Shutdown(shutdownCtx) // the streams end with the node
		stopSite()
		_ = server.Close()
		<-served
	}, nil
}

// warnOfExpiry warns of the end of the certificate of the HTTP server.
func warnOfExpiry(log *slog.Logger, file string, self tlsauth.Identity, now time.Time) {
	about := []any{"file", file, "ends", self.Until.UTC().Format(time.RFC3339)}
	if !self.IsValid(now) {
		log.Error("certificate of http_tls has ended: clients reject it, renew the file", about...)
		return
	}
	log.Warn("certificate of http_tls ends soon: renew the file", append(about, "left", self.Until.Sub(now).Round(time.Minute))...)
}

// endReplaced returns a handler that ends connections that were made before the files of the server have changed: after
// the next answer, and those of streams within replacedInterval.
func endReplaced(next http.Handler, isReplaced func(context.Context) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isReplaced(r.Context()) {
			w.Header().Set("Connection", "close")
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			ticker := time.NewTicker(replacedInterval)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					if isReplaced(ctx) {
						cancel()
					}
				case <-ctx.Done():
					return
				}
			}
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// healthPaths are the paths for load balancers and probes.
var healthPaths = []string{"/leader", "/livez", "/readyz"}

// requireCertificate returns a handler that passes requests of clients with a certificate to next, and those for
// healthPaths of all clients if isHealthPublic is set. A stream ends with the certificate of its client.
func requireCertificate(next http.Handler, https *tlsauth.HTTPS, isHealthPublic bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isHealthPublic && slices.Contains(healthPaths, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		id, err := https.Identify(r.TLS)
		if err != nil {
			http.Error(w, fmt.Sprintf("%v: %s needs a client certificate of the authority that this node accepts", err, diag.Quote(r.URL.Path)), http.StatusForbidden)
			return
		}
		ctx, cancel := context.WithDeadline(r.Context(), id.Until)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
