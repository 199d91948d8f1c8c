package cli

import (
	"cmp"
	"net"
	"os"

	"github.com/spf13/pflag"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/tlsauth"
)

// access holds the flags with which a command authenticates to a closed cluster: the secret, or a client certificate.
type access struct {
	table      *confload.Table
	secretFile string
	config     string
}

// accessText explains access in the help of a command.
const accessText = `A closed cluster requires its secret, from --secret-file, ELECT_SECRET_FILE, or the
configuration of a node on this machine (--config, or ELECT_CONFIG); or a certificate, from
tls in that configuration, or ELECT_TLS_CERT, ELECT_TLS_KEY and ELECT_TLS_CA.`

func (a *access) register(set *pflag.FlagSet) {
	set.StringVar(&a.secretFile, "secret-file", "", "`file` with the secret of the cluster")
	set.StringVar(&a.config, "config", "", "`file` of the configuration of a node of the cluster, which names the secret or the certificate")
}

// settings reads the configuration of a node on this machine. It checks only the settings that a client needs.
func (a *access) settings() (*confload.Settings, error) {
	settings, err := a.table.Load(a.config, os.Environ(), nil)
	if err != nil {
		return nil, usagef("the configuration: %v", err)
	}
	return settings, nil
}

// client returns a client with this access.
func (a *access) client() (client.Client, error) {
	settings, err := a.settings()
	if err != nil {
		return client.Client{}, err
	}
	c := settings.Config
	o := tlsauth.Config{SecretFile: c.SecretFile, TLS: c.TLS, Migrate: c.Security != ""}
	if a.secretFile != "" {
		o.SecretFile, o.TLS = a.secretFile, tlsauth.Certificate{}
	}
	if o.SecretFile == "" && o.TLS == (tlsauth.Certificate{}) {
		return client.Client{}, nil
	}
	endpoint, err := tlsauth.New(o)
	if err != nil {
		return client.Client{}, &exitError{statusUsage, err.Error()}
	}
	return client.Client{Secure: endpoint}, nil
}

// addresses returns the addresses of the command line. Without one, it returns those that others picks from the
// configuration, and after them the address of the node on this machine.
func (a *access) addresses(command string, args []string, others func(*confload.Settings) []string) ([]string, error) {
	if len(args) == 0 {
		settings, err := a.settings()
		if err != nil {
			return nil, err
		}
		args = others(settings)
		if own := ownAddress(settings.Advertise, settings.Listen); own != "" {
			args = append(args, own)
		}
		if len(args) == 0 {
			return nil, usagef("%s wants an address, host:port, or a configuration that has one (--config, ELECT_CONFIG)", command)
		}
	}
	for _, addr := range args {
		if err := checkAddress("the address", addr); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// ownAddress returns the address of a node for clients on its own machine.
func ownAddress(advertise, listen string) string {
	host, port, err := net.SplitHostPort(cmp.Or(advertise, listen))
	if err != nil {
		return cmp.Or(advertise, listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
