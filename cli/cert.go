package cli

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/tlsauth"
)

// trialWarning warns against the use of this authority in production.
const trialWarning = `This authority is for trials and tests only: its key is a file, and a reader of that file
can act as any member and any operator. In production, use an authority that protects its
key and renews certificates, such as step-ca, Vault or cert-manager.`

// maxAuthority bounds each file of the authority, in bytes.
const maxAuthority = 256 << 10

func newCert() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cert",
		Short: "Make certificates for a trial",
		Long:  "Make an authority, and certificates of it.\n\n" + trialWarning,
		Example: `  elect cert init --cluster demo --dir /etc/elect
  elect cert issue --cluster demo --dir /etc/elect --member n1
  elect cert issue --cluster demo --dir /etc/elect --operator`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCertInit(), newCertIssue())
	return cmd
}

// certificates holds the flags that both commands have.
type certificates struct {
	cluster, dir string
	days         int
	json         bool
}

// certificateObject is a written certificate as JSON.
type certificateObject struct {
	Cert  string    `json:"cert"`
	Key   string    `json:"key"`
	Is    string    `json:"is"`
	Until time.Time `json:"until"`
}

func (c *certificates) register(cmd *cobra.Command, days int) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&c.cluster, "cluster", "elect", "`name` of the cluster")
	set.StringVar(&c.dir, "dir", ".", "`folder` of the authority, and of what it issues")
	set.IntVar(&c.days, "days", days, "for how many `days` it holds")
	set.BoolVar(&c.json, "json", false, "print one JSON object")
}

func (c *certificates) check() error {
	switch {
	case !wire.IsName(c.cluster):
		return usagef("--cluster is %q, want 1 to 64 letters, digits, '.', '-' or '_'", c.cluster)
	case c.days < 1 || c.days > 36500:
		return usagef("--days is %d, want 1 to 36500", c.days)
	}
	return nil
}

func (c *certificates) life() time.Duration { return time.Duration(c.days) * 24 * time.Hour }

func newCertInit() *cobra.Command {
	var c certificates
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make an authority for a trial",
		Long: `Make an authority: ca.crt, which every member has, and ca.key, with which 'elect cert
issue' signs. There must be none in the folder yet. A folder that is missing is created.

` + trialWarning + `

With --json, one object: cert and key (the files), is (what the certificate says), until (when it ends).`,
		Example: `  elect cert init --cluster demo --dir /etc/elect`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.check(); err != nil {
				return err
			}
			if _, err := os.Lstat(c.path("ca.key")); !errors.Is(err, fs.ErrNotExist) {
				return cmp.Or(err, fmt.Errorf("there is an authority already: %s", c.path("ca.key")))
			}
			if err := os.MkdirAll(c.dir, 0o755); err != nil {
				return err
			}
			cert, key, err := tlsauth.NewAuthority(c.cluster, c.life())
			if err != nil {
				return err
			}
			return c.write(cmd, "ca", "the authority of "+c.cluster, cert, key)
		},
	}
	c.register(cmd, 3650)
	return cmd
}

func newCertIssue() *cobra.Command {
	var c certificates
	var member string
	var hosts []string
	var operator, observer bool
	cmd := &cobra.Command{
		Use:   "issue",
		Short: "Make a certificate for a member, an operator or an observer",
		Long: `Make a certificate of the authority of 'elect cert init', and its key: NAME.crt and
NAME.key for a member, operator.crt or observer.crt for a client. An operator may send admin
requests, an observer may only read the status. Existing files are replaced: this renews a
certificate, and a running node loads the new one.

Each --host is a name or an address under which HTTPS clients reach a member: they compare it.
Members do not. So a renewal needs the same --host again.

` + trialWarning + `

With --json, one object: cert and key (the files), is (what the certificate says), until (when it ends).`,
		Example: `  elect cert issue --cluster demo --dir /etc/elect --member n1
  elect cert issue --cluster demo --dir /etc/elect --member n1 --host 10.0.0.1 --host n1.example.net
  elect cert issue --cluster demo --dir /etc/elect --operator --days 1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, name := tlsauth.Identity{Cluster: c.cluster, Role: tlsauth.Observer}, tlsauth.Observer.String()
			switch {
			case operator:
				id.Role, name = tlsauth.Operator, tlsauth.Operator.String()
			case !observer && (!wire.IsName(member) || member == "ca" || member == tlsauth.Operator.String() || member == tlsauth.Observer.String()):
				return usagef("--member is %q, want 1 to 64 letters, digits, '.', '-' or '_', and none of ca, operator and observer", member)
			case !observer:
				id.Role, id.Names, name = tlsauth.Member, []string{member}, member
			}
			if err := cmp.Or(c.check(), checkHosts(hosts, member)); err != nil {
				return err
			}
			authority, err := disk.Read(c.path("ca.crt"), disk.CheckIntegrity, maxAuthority)
			if err != nil {
				return fmt.Errorf("no authority, see 'elect cert init --help': %w", err)
			}
			authorityKey, err := disk.Read(c.path("ca.key"), disk.CheckSecrecy, maxAuthority)
			if err != nil {
				return err
			}
			cert, key, err := tlsauth.Issue(authority, authorityKey, id, c.life(), hosts...)
			if err != nil {
				return err
			}
			return c.write(cmd, name, id.String(), cert, key)
		},
	}
	cmd.Flags().StringVar(&member, "member", "", "`name` of a member")
	cmd.Flags().StringSliceVar(&hosts, "host", nil, "name or address of the `host` for HTTPS clients (repeatable)")
	cmd.Flags().BoolVar(&operator, "operator", false, "for a client that may read the status and send admin requests")
	cmd.Flags().BoolVar(&observer, "observer", false, "for a client that may only read the status")
	cmd.MarkFlagsOneRequired("member", "operator", "observer")
	cmd.MarkFlagsMutuallyExclusive("member", "operator", "observer")
	c.register(cmd, 365)
	return cmd
}

// checkHosts checks the hosts of a certificate.
func checkHosts(hosts []string, member string) error {
	if len(hosts) > 0 && member == "" {
		return usagef("--host is for --member: only a member is a server")
	}
	for _, host := range hosts {
		if net.ParseIP(host) == nil && (len(host) > maxHostName || !hostName.MatchString(host)) {
			return usagef("--host is %q, want a name or an address without a port, such as n1.example.net or 10.0.0.1", host)
		}
	}
	return nil
}

// maxHostName is the number of bytes that a name of DNS may have. A bound within the expression would cost every
// process 160 KiB before main.
const maxHostName = 253

// hostName matches a name of DNS of any length.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func (c *certificates) path(name string) string { return filepath.Join(c.dir, name) }

// write saves the certificate and its key in the folder, each atomically, and prints their names.
func (c *certificates) write(cmd *cobra.Command, name, is string, cert, key []byte) error {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	written := certificateObject{Cert: c.path(name + ".crt"), Key: c.path(name + ".key"), Is: is, Until: pair.Leaf.NotAfter}
	if err := errors.Join(replace(written.Key, key, 0o600), replace(written.Cert, cert, 0o644)); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(written)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s and %s: %s, until %s\n\n%s\n", written.Cert, written.Key, is, written.Until.Format(time.DateOnly), trialWarning)
	return err
}

// replace writes a file atomically.
func replace(path string, content []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after a successful rename
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
