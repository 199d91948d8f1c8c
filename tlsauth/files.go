package tlsauth

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

// keys is the content of the files.
type keys struct {
	secrets   []secret            // the first is used; empty: secrets are not accepted
	authority *x509.CertPool      // nil: certificates are not accepted
	roots     []*x509.Certificate // of authority
	own       tls.Certificate     // signed by authority, or self-signed
	self      Identity            // identity in own
	version   uint64              // number of contents before this one
}

const (
	recheckInterval = time.Second // minimum time between two checks
	checkTimeout    = 100 * time.Millisecond
	maxFile         = 256 << 10 // bytes
)

// files are the files of an endpoint, and their last valid content. A file system that does not respond can block a
// read forever, so a check reads the files in its own goroutine.
type files struct {
	Config
	checkCert func(keys) (self Identity, err error) // checks the own certificate in fresh content
	readFile  func(path string, check func(*os.File) error) ([]byte, error)

	mu           sync.Mutex
	keys         keys
	checkedAt    time.Time     // start of the last check
	check        chan struct{} // closed at the end of the running check; nil: none is running
	slowReported bool          // the log has reported that the last check took longer than checkTimeout

	// The check that is under way owns the fields below.
	lastInfo []os.FileInfo // of the files, when they were read last
	attempts int           // attempts to read the present files without success
}

// paths returns the configured files.
func (c *Config) paths() (all []string) {
	for _, path := range []string{c.SecretFile, c.TLS.Cert, c.TLS.Key, c.TLS.CA} {
		if path != "" {
			all = append(all, path)
		}
	}
	return all
}

// load reads the files for the first time.
func (f *files) load() (err error) {
	f.readFile = readFile
	f.lastInfo, f.checkedAt = f.stat(), time.Now()
	f.keys, err = f.read()
	return err
}

// current returns the content of the files for a new connection. If the last check began at least recheckInterval
// ago, it starts a check and waits for it: a removed secret must not be accepted on the next connection. If the check
// takes longer than checkTimeout, the previous content is used until it ends, and no other connection waits for it.
func (f *files) current() keys {
	f.mu.Lock()
	if f.check == nil && time.Since(f.checkedAt) >= recheckInterval {
		f.checkedAt, f.check = time.Now(), make(chan struct{})
		go f.runCheck(f.check)
	}
	check, remaining := f.check, checkTimeout-time.Since(f.checkedAt)
	f.mu.Unlock()
	if check != nil && remaining > 0 {
		select {
		case <-check:
		case <-time.After(remaining):
			f.reportSlow()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys
}

// runCheck checks the files, and closes check when the result is in use.
func (f *files) runCheck(check chan struct{}) {
	fresh, changed := f.reload()
	f.mu.Lock()
	defer f.mu.Unlock()
	if changed {
		fresh.version = f.keys.version + 1
		f.keys = fresh
	}
	f.slowReported = f.slowReported && time.Since(f.checkedAt) >= checkTimeout
	f.check = nil
	close(check)
}

// reportSlow logs that checks take too long: once, until a check is fast again.
func (f *files) reportSlow() {
	f.mu.Lock()
	wasReported := f.slowReported
	f.slowReported = true
	f.mu.Unlock()
	if !wasReported {
		f.Log.Warn("secret or certificate does not load in time, keeping the previous content", "files", f.paths(), "timeout", checkTimeout)
	}
}

// reload reads the files if they have changed. If that fails, the previous content stays in use. The failure is
// logged at the second attempt only, because a renewal writes two files, one after the other. Files that could not be
// read are read at each check, because a change of the owner shows in nothing else.
func (f *files) reload() (fresh keys, changed bool) {
	if info := f.stat(); !sameFiles(info, f.lastInfo) {
		f.lastInfo, f.attempts = info, 1
	}
	if f.attempts == 0 {
		return keys{}, false
	}
	read, err := f.read()
	switch {
	case err == nil:
		f.attempts = 0
		f.Log.Info("credentials reloaded", "files", f.paths())
		return read, true
	case f.attempts == 1:
		f.attempts = 2
	case f.attempts == 2:
		f.attempts = 3
		f.Log.Error("credentials not reloaded, keeping the previous ones", "error", err)
	}
	return keys{}, false
}

// stat returns the metadata of the files.
func (f *files) stat() (all []os.FileInfo) {
	for _, path := range f.paths() {
		info, _ := os.Stat(path) // read reports a missing file
		all = append(all, info)
	}
	return all
}

func sameFiles(a, b []os.FileInfo) bool {
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

// read reads all files. Its error lists every problem, each with its file.
func (f *files) read() (k keys, err error) {
	var problems []error
	report := func(field, path string, err error) bool {
		if err != nil {
			problems = append(problems, &algo.SettingError{Field: field, Got: strconv.Quote(path), Want: fmt.Sprintf("a file that can be used (%v)", err), Err: err})
		}
		return err == nil
	}
	if f.SecretFile != "" {
		text, err := f.readFile(f.SecretFile, disk.CheckSecrecy)
		if err == nil {
			k.secrets, err = parseSecrets(text)
		}
		report("secret_file", f.SecretFile, err)
	}
	if f.TLS.CA == "" {
		k.own, err = ephemeral()
		return k, errors.Join(append(problems, err)...)
	}
	authority, err := f.readFile(f.TLS.CA, disk.CheckIntegrity)
	if report("tls.ca", f.TLS.CA, err) {
		k.authority, k.roots = readAuthority(authority)
		if len(k.roots) == 0 {
			report("tls.ca", f.TLS.CA, errors.New("it holds no certificate, want those of the authority in PEM"))
		}
	}
	certificate, err := f.readFile(f.TLS.Cert, disk.CheckIntegrity)
	report("tls.cert", f.TLS.Cert, err)
	key, err := f.readFile(f.TLS.Key, disk.CheckSecrecy)
	report("tls.key", f.TLS.Key, err)
	if len(problems) > 0 {
		return keys{}, errors.Join(problems...)
	}
	k.own, err = tls.X509KeyPair(certificate, key)
	if report("tls.cert", f.TLS.Cert, err) {
		k.self, err = f.checkCert(k)
		report("tls.cert", f.TLS.Cert, err)
	}
	return k, errors.Join(problems...)
}

// checkOwn checks this endpoint's certificate as its peers will.
func (f *files) checkOwn(k keys) (self Identity, err error) {
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
	if !self.AllowsName(f.Member) {
		return self, fmt.Errorf("it is that of %s, and this is member %s", self, f.Member)
	}
	return verify(chain, k.authority, k.roots, x509.ExtKeyUsageServerAuth, f.Cluster)
}

// readAuthority reads the certificates in a text, and skips everything else.
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

// readFile reads a file of at most maxFile bytes that check accepts.
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
