package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/trace"
)

// floods are attacks on the leader: by a host without credentials, by processes that may request the status, and by a
// member.
var floods = []floodKind{
	{"replay", 400, "secret", (*flood).replay},          // one recorded ClientHello
	{"sweep", 400, "secret", (*flood).sweep},            // the same, each from another address
	{"chain", 20, "certificate", (*flood).inventChain},  // a client certificate with 100 invented authorities
	{"chain", 300, "certificate", (*flood).inventChain}, // the same
	{"status", 60, "none", (*flood).askStatus},          // requests of clients, each on a new connection
	{"clients", 64, "none", (*flood).holdClient},        // clients that send no request
	{"nodes", 600, "none", (*flood).holdNode},           // non-members, each with a new ID
	{"http", 200, "none", (*flood).askHTTP},             // requests for /status
	{"idle-http", 600, "none", (*flood).holdHTTP},       // connections without a request
	{"member", 16, "none", (*flood).restatePriority},    // a member that changes its priority all the time
}

type floodKind struct {
	name        string
	connections int                                     // concurrent
	security    string                                  // of the cluster: "secret", "certificate" or "none"
	attack      func(f *flood, addr string, number int) // one connection
}

// floodStatus is the number of status requests during a flood.
const floodStatus = 15

// BenchmarkFlood attacks the leader of three nodes. Meanwhile it restarts a member, and sends 15 status requests, 15
// checks of /leader and 15 admin requests from the same host. An iteration takes 10 s (3 s with -short) and the time
// for these requests.
//
// The metric leader-changes counts nodes that follow another leader. The metrics rejoin-ms and leader-MiB are the time
// until the restarted member follows the leader, and the highest memory of the leader. Only clusters without
// credentials get admin requests, and have saves/s.
func BenchmarkFlood(b *testing.B) {
	config := setting(b)
	for _, kind := range floods {
		b.Run(fmt.Sprintf("attack=%s/connections=%d", kind.name, kind.connections), func(b *testing.B) {
			span := 15 * time.Second
			if testing.Short() {
				span = 5 * time.Second
			}
			benchmarkFlood(b, config, kind, span)
		})
	}
}

func benchmarkFlood(b *testing.B, config proccluster.Config, kind floodKind, span time.Duration) {
	var seen witness
	config.Nodes, config.OnEvent = 3, seen.see
	f, credentials := newFlood(b, kind.security)
	config.Args = slices.Concat(config.Args, credentials)
	config.Joins = kind.security == "none" // static members would reject unlisted nodes
	sites := make(map[string]string)
	for i := range config.Nodes {
		site := freeAddr(b)
		sites[proccluster.Name(i+1)] = site
		config.Hosts = append(config.Hosts, proccluster.Host{Command: []string{"env", "ELECT_HTTP=" + site}, Addr: freeAddr(b)})
	}
	nodes, err := proccluster.New(within(b, time.Minute), config)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := fault.End(nodes); err != nil {
			b.Error(err)
		}
	}()
	leader, err := nodes.WaitQuiet(within(b, time.Minute))
	if err != nil {
		b.Fatal(err)
	}

	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	f.ctx, f.site = ctx, sites[leader.Name]
	f.member = nodes.States()[0].Addr
	saves := func() uint64 {
		if kind.security != "none" {
			return 0
		}
		if f.status, err = (client.Client{}).Status(within(b, time.Minute), leader.Addr); err != nil {
			b.Fatal(err)
		}
		return f.status.Counters["saves"]
	}
	before := saves()
	start := proccluster.Now()
	var attackers sync.WaitGroup
	for range kind.connections {
		attackers.Go(func() {
			for ctx.Err() == nil {
				kind.attack(f, leader.Addr, int(f.count.Add(1)))
			}
		})
	}
	repeat(b, 1, func() { _ = proccluster.Sleep(b.Context(), span/3) })
	failed, failedChecks, failedOrders, memory := 0, 0, 0, int64(0)
	for range floodStatus {
		request, cancel := context.WithTimeout(b.Context(), 5*time.Second)
		if exec.CommandContext(request, config.Command[0], append([]string{"status", leader.Addr}, f.statusArgs...)...).Run() != nil {
			failed++
		}
		if !f.check(request) {
			failedChecks++
		}
		if kind.security == "none" && (client.Client{}).SetPriority(request, leader.Addr, proccluster.Number(leader.Name)) != nil {
			failedOrders++
		}
		cancel()
		used, err := readUsage(leader.Pid)
		if err != nil {
			b.Fatal(err)
		}
		memory = max(memory, used.resident())
	}
	if _, err := nodes.Signal("n1", proccluster.Kill); err != nil {
		b.Fatal(err)
	}
	if err := nodes.Restart(within(b, time.Minute), "n1"); err != nil {
		b.Fatal(err)
	}
	restarted := time.Now()
	_, err = nodes.WaitLeader(within(b, time.Minute))
	rejoin := time.Since(restarted)
	if err != nil {
		b.Error(err)
	}
	_ = proccluster.Sleep(b.Context(), span/3)
	end := proccluster.Now()
	saved := saves() - before
	stop()
	attackers.Wait()

	changes, suspicions, text := 0, 0, ""
	for _, e := range seen.since(start) {
		if e.node == "n1" || e.Peer.String() == nodes.States()[0].ID {
			continue // the member that was restarted
		}
		switch {
		case e.Kind == trace.Suspect:
			suspicions++
		case e.Kind == trace.Announce && !e.Leader.IsVacant() && e.Leader.ID.String() != leader.ID:
			changes++
		default:
			continue
		}
		if changes+suspicions <= 5 {
			text += "\n" + e.after(start)
		}
	}
	b.ReportMetric(float64(changes), "leader-changes")
	b.ReportMetric(float64(suspicions), "suspicions")
	b.ReportMetric(float64(rejoin.Milliseconds()), "rejoin-ms")
	b.ReportMetric(float64(failed), "status-failed")
	b.ReportMetric(float64(failedChecks), "checks-failed")
	b.ReportMetric(float64(failedOrders), "orders-failed")
	b.ReportMetric(float64(memory)/(1<<20), "leader-MiB")
	b.ReportMetric(float64(saved)/time.Duration(end-start).Seconds(), "saves/s")
	b.ReportMetric(float64(f.answers.Load())/time.Duration(end-start).Seconds(), "answers/s")
	b.ReportMetric(float64(f.count.Load())/time.Duration(end-start).Seconds(), "attacks/s")
	b.Logf("load average now %s%s", hostinfo.LoadAverage(), text)
}

// flood is one attacker.
type flood struct {
	hello      []byte // recorded ClientHello
	invented   tls.Certificate
	statusArgs []string // credentials of a status request
	site       string   // where the leader serves HTTP
	member     string   // the address of another member
	ctx        context.Context
	status     cluster.Status // of the leader before the flood, where it needs no credentials
	browser    http.Client
	count      atomic.Int64
	answers    atomic.Int64
}

// newFlood creates the credentials of the nodes and the messages of the attacker.
func newFlood(b *testing.B, security string) (f *flood, nodeArgs []string) {
	dir := b.TempDir()
	f = &flood{hello: recordHello(b)}
	switch security {
	case "none":
		f.browser.Transport = &http.Transport{MaxIdleConnsPerHost: 1000}
		b.Cleanup(f.browser.CloseIdleConnections)
		return f, nil
	case "secret":
		secret := filepath.Join(dir, "secret")
		elect, err := command()
		if err != nil {
			b.Fatal(err)
		}
		if out, err := exec.Command(elect, "secret", secret).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		f.statusArgs = []string{"--secret-file", secret}
		return f, f.statusArgs
	}
	authority := newIssuer(b, nil, "authority")
	members := authority.issue(b, "members", "n1", "n2", "n3")
	ca, cert, key := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "n.crt"), filepath.Join(dir, "n.key")
	writePEM(b, ca, "CERTIFICATE", authority.cert.Raw)
	writePEM(b, cert, "CERTIFICATE", members.cert.Raw)
	private, err := x509.MarshalPKCS8PrivateKey(members.key)
	if err != nil {
		b.Fatal(err)
	}
	writePEM(b, key, "PRIVATE KEY", private)
	settings := filepath.Join(dir, "elect.yaml")
	text := fmt.Sprintf("tls: {cert: %q, key: %q, ca: %q}\n", cert, key, ca)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	f.statusArgs = []string{"--config", settings}

	above := newIssuer(b, nil, "invented")
	var chain [][]byte
	for range 100 {
		chain = append(chain, above.cert.Raw)
		above = above.issue(b, "invented")
	}
	slices.Reverse(chain)
	f.invented = tls.Certificate{Certificate: append([][]byte{above.cert.Raw}, chain...), PrivateKey: above.key}
	return f, f.statusArgs
}

// issuer is a certificate with its key.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(b *testing.B, by *issuer, name string, dns ...string) *issuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: dns,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: len(dns) == 0, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if len(dns) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	}
	if by == nil {
		by = &issuer{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		b.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		b.Fatal(err)
	}
	return &issuer{cert, key}
}

func (i *issuer) issue(b *testing.B, name string, dns ...string) *issuer {
	return newIssuer(b, i, name, dns...)
}

func writePEM(b *testing.B, path, kind string, der []byte) {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		b.Fatal(err)
	}
}

// recordHello returns a ClientHello that a node accepts.
func recordHello(b *testing.B) []byte {
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_ = tls.Client(far, floodTLS()).Handshake()
		far.Close()
	}()
	hello := make([]byte, 4096)
	n, err := near.Read(hello)
	if err != nil {
		b.Fatal(err)
	}
	return hello[:n]
}

func floodTLS() *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{"elect"}, MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.X25519},
	}
}

// replay sends the recorded ClientHello, and closes the connection when the node has answered it.
func (f *flood) replay(addr string, _ int) { f.send(addr, "127.66.0.1") }

// sweep is replay from another address each time.
func (f *flood) sweep(addr string, number int) {
	f.send(addr, fmt.Sprintf("127.%d.%d.%d", 67+number>>16%100, number>>8%256, 1+number%254))
}

func (f *flood) dial(addr, from string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", addr)
	if err == nil {
		c.(*net.TCPConn).SetLinger(0) // a closed connection leaves no port in TIME_WAIT
		c.SetDeadline(time.Now().Add(5 * time.Second))
	}
	return c, err
}

func (f *flood) send(addr, from string) {
	c, err := f.dial(addr, from)
	if err != nil {
		return
	}
	defer c.Close()
	if _, err := c.Write(f.hello); err == nil {
		_, _ = io.ReadFull(c, make([]byte, 16))
	}
}

// inventChain shows a certificate with 100 invented authorities.
func (f *flood) inventChain(addr string, _ int) {
	c, err := f.dial(addr, "127.66.0.1")
	if err != nil {
		return
	}
	defer c.Close()
	config := floodTLS()
	config.Certificates = []tls.Certificate{f.invented}
	t := tls.Client(c, config)
	if t.Handshake() == nil {
		_, _ = t.Write([]byte{1})
		_, _ = io.Copy(io.Discard, t)
	}
}

// askStatus requests the status as a command does.
func (f *flood) askStatus(addr string, _ int) {
	ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
	defer cancel()
	if _, err := (client.Client{}).Status(ctx, addr); err == nil {
		f.answers.Add(1)
	}
}

// askHTTP requests the status over HTTP, on a connection that stays open.
func (f *flood) askHTTP(string, int) {
	if f.get(f.ctx, &f.browser, "/status") == http.StatusOK {
		f.answers.Add(1)
	}
}

// check requests /leader as a load balancer does: on a new connection.
func (f *flood) check(ctx context.Context) bool {
	balancer := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return f.get(ctx, &balancer, "/leader") == http.StatusOK
}

func (f *flood) get(ctx context.Context, from *http.Client, path string) (code int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.site+path, nil)
	if err != nil {
		return 0
	}
	answer, err := from.Do(request)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0
	}
	return answer.StatusCode
}

// holdClient sends a hello as a client, and no request.
func (f *flood) holdClient(addr string, _ int) {
	f.hold(addr, wire.Hello{MinVersion: wire.Version, MaxVersion: wire.Version, Client: true})
}

// holdNode sends a hello as a non-member, and then nothing.
func (f *flood) holdNode(addr string, number int) {
	f.hold(addr, wire.Hello{
		MinVersion: wire.Version, MaxVersion: wire.Version, Cluster: f.status.Cluster, Algorithm: f.status.Algorithm,
		Name: fmt.Sprintf("flood-%d", number), ID: algo.NodeID(uuid.New()), Incarnation: 1 << 32, Addr: "127.0.0.1:1",
	})
}

// holdHTTP opens a connection to the site of the leader.
func (f *flood) holdHTTP(string, int) { f.hold(f.site, wire.Hello{}) }

// hold sends the hello, if any, keeps the connection open until its end, and waits a second.
func (f *flood) hold(addr string, hello wire.Hello) {
	defer func() { _ = proccluster.Sleep(f.ctx, time.Second) }()
	var d net.Dialer
	c, err := d.DialContext(f.ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(f.ctx, func() { c.Close() })()
	if hello.MaxVersion > 0 {
		frame, err := wire.HelloCodec.Append(nil, hello)
		if err != nil {
			panic(err)
		}
		_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	}
	_, _ = io.Copy(io.Discard, c)
}

// freeAddr returns an address of the loopback on which nothing listens.
func freeAddr(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// restatePriority gives the other member another priority, which the leader writes into the config.
func (f *flood) restatePriority(_ string, number int) {
	ctx, cancel := context.WithTimeout(f.ctx, time.Second)
	defer cancel()
	if (client.Client{}).SetPriority(ctx, f.member, -number) == nil {
		f.answers.Add(1)
	}
}
