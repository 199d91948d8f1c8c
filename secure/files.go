package secure

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/disk"
)

// keys is what the files say.
type keys struct {
	secrets   []secret            // the one to use first; none: not a way in
	authority *x509.CertPool      // nil: not a way in
	roots     []*x509.Certificate // of authority
	own       tls.Certificate     // that of the authority, or one that proves nothing
	self      Identity            // who that says
}

const (
	lookEvery   = time.Second // at most
	lookTimeout = 100 * time.Millisecond
	maxFile     = 256 << 10 // bytes
)

// files are those of an endpoint, and what they said last that was right. A file system that does
// not answer can block a read for ever, so only a goroutine of its own reads: a look.
type files struct {
	Config
	readFile func(path string, check func(*os.File) error) ([]byte, error)

	mu     sync.Mutex
	keys   keys
	looked time.Time     // begin of the last look
	look   chan struct{} // of the look that is under way, closed when it ends; nil: none is
	slow   bool          // the last look took longer than lookTimeout, and the log says so

	// The rest belongs to the look that is under way.
	seen   []os.FileInfo // of the files, as they were read last
	failed int           // how often what was seen could not be read
}

// paths are those that are configured.
func (c *Config) paths() (all []string) {
	for _, path := range []string{c.SecretFile, c.TLS.Cert, c.TLS.Key, c.TLS.CA} {
		if path != "" {
			all = append(all, path)
		}
	}
	return all
}

// open reads the files for the first time.
func (f *files) open() (err error) {
	f.readFile = readFile
	f.seen, f.looked = f.stat(), time.Now()
	f.keys, err = f.read()
	return err
}

// now is what counts for a connection that is made now. It starts a look if none has begun for
// lookEvery, and waits for it: a secret that was removed must not be accepted from the next
// connection. If the look takes longer than lookTimeout, the previous content stays in use until it
// ends, and no other connection waits for it.
func (f *files) now() keys {
	f.mu.Lock()
	if f.look == nil && time.Since(f.looked) >= lookEvery {
		f.looked, f.look = time.Now(), make(chan struct{})
		go f.runLook(f.look)
	}
	look, left := f.look, lookTimeout-time.Since(f.looked)
	f.mu.Unlock()
	if look != nil && left > 0 {
		select {
		case <-look:
		case <-time.After(left):
			f.reportSlow()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys
}

// runLook looks at the files, and closes look when the result is in use.
func (f *files) runLook(look chan struct{}) {
	fresh, changed := f.reload()
	f.mu.Lock()
	defer f.mu.Unlock()
	if changed {
		f.keys = fresh
	}
	f.slow = f.slow && time.Since(f.looked) >= lookTimeout
	f.look = nil
	close(look)
}

// reportSlow logs once that looks take too long, until one of them does not.
func (f *files) reportSlow() {
	f.mu.Lock()
	reported := f.slow
	f.slow = true
	f.mu.Unlock()
	if !reported {
		f.Log.Warn("secret or certificate does not load in time, keeping the previous content", "files", f.paths(), "timeout", lookTimeout)
	}
}

// reload reads the files again when they have changed, and what
// cannot be read then changes nothing. That is said once, and not at the first look: who renews writes two
// files, one after the other. Files that cannot be read are read at each look: a new owner shows in nothing else.
func (f *files) reload() (fresh keys, changed bool) {
	if seen := f.stat(); !same(seen, f.seen) {
		f.seen, f.failed = seen, 1
	}
	if f.failed == 0 {
		return keys{}, false
	}
	read, err := f.read()
	switch {
	case err == nil:
		f.failed = 0
		f.Log.Info("secret or certificate read anew", "files", f.paths())
		return read, true
	case f.failed == 1:
		f.failed = 2
	case f.failed == 2:
		f.failed = 3
		f.Log.Error("secret or certificate not renewed: what was read before counts", "error", err)
	}
	return keys{}, false
}

// stat is how the files look from outside.
func (f *files) stat() (all []os.FileInfo) {
	for _, path := range f.paths() {
		info, _ := os.Stat(path) // what is not there, read says
		all = append(all, info)
	}
	return all
}

func same(a, b []os.FileInfo) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) {
			return false
		}
		if a[i] != nil && (!os.SameFile(a[i], b[i]) || a[i].Size() != b[i].Size() || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Mode() != b[i].Mode()) {
			return false
		}
	}
	return true
}

// read reads all files. Its error says all that is wrong, each with its file.
func (f *files) read() (k keys, err error) {
	var wrong []error
	note := func(field, path string, err error) bool {
		if err != nil {
			wrong = append(wrong, &algo.SettingError{Field: field, Got: strconv.Quote(path), Want: fmt.Sprintf("a file that can be used (%v)", err), Err: err})
		}
		return err == nil
	}
	if f.SecretFile != "" {
		text, err := f.readFile(f.SecretFile, disk.CheckSecrecy)
		if err == nil {
			k.secrets, err = parseSecrets(text)
		}
		note("secret_file", f.SecretFile, err)
	}
	if f.TLS.CA == "" {
		k.own, err = ephemeral()
		return k, errors.Join(append(wrong, err)...)
	}
	authority, err := f.readFile(f.TLS.CA, disk.CheckIntegrity)
	if note("tls.ca", f.TLS.CA, err) {
		k.authority, k.roots = readAuthority(authority)
		if len(k.roots) == 0 {
			note("tls.ca", f.TLS.CA, errors.New("it holds no certificate, want those of the authority in PEM"))
		}
	}
	certificate, err := f.readFile(f.TLS.Cert, disk.CheckIntegrity)
	note("tls.cert", f.TLS.Cert, err)
	key, err := f.readFile(f.TLS.Key, disk.CheckSecrecy)
	note("tls.key", f.TLS.Key, err)
	if len(wrong) > 0 {
		return keys{}, errors.Join(wrong...)
	}
	k.own, err = tls.X509KeyPair(certificate, key)
	if note("tls.cert", f.TLS.Cert, err) {
		k.self, err = f.check(k)
		note("tls.cert", f.TLS.Cert, err)
	}
	return k, errors.Join(wrong...)
}

// check looks at the own certificate as others will.
func (f *files) check(k keys) (self Identity, err error) {
	var chain []*x509.Certificate
	for _, der := range k.own.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return self, err
		}
		chain = append(chain, c)
	}
	if size := len(slices.Concat(k.own.Certificate...)); len(chain) > maxChain || size > maxChainBytes {
		return self, fmt.Errorf("it holds %d certificates of %d bytes, want at most %d of %d KiB, which is what others accept",
			len(chain), size, maxChain, maxChainBytes>>10)
	}
	if self, err = verify(chain, k.authority, k.roots, x509.ExtKeyUsageClientAuth, f.Cluster); err != nil {
		return self, err
	}
	if f.Member == "" {
		return self, nil
	}
	if !self.MayBe(f.Member) {
		return self, fmt.Errorf("it is that of %s, and this is member %s", self, f.Member)
	}
	return verify(chain, k.authority, k.roots, x509.ExtKeyUsageServerAuth, f.Cluster)
}

// readAuthority reads the certificates in a text, and skips what is none.
func readAuthority(text []byte) (pool *x509.CertPool, roots []*x509.Certificate) {
	pool = x509.NewCertPool()
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" && len(block.Headers) == 0 {
			pool.AddCert(c)
			roots = append(roots, c)
		}
	}
	return pool, roots
}

// readFile reads a file of a bounded size that check accepts.
func readFile(path string, check func(*os.File) error) ([]byte, error) {
	text, err := disk.Read(path, check, maxFile+1)
	switch {
	case err != nil:
		return nil, errors.Unwrap(err) // the caller names the file
	case len(text) > maxFile:
		return nil, fmt.Errorf("it has more than %d KiB", maxFile>>10)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("it is empty")
	}
	return text, nil
}
