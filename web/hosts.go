package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// AllowHosts returns a handler that protects next against DNS rebinding. A website can let its own name
// resolve to the address of this server. A browser then lets the website read from here, and sends the
// name of the website in the Host header.
//
// The handler passes a request to next if its Host header is a loopback address, localhost, or one of
// hosts: names or addresses without a port. It answers any other request with status 421. A request
// without a Host header passes: some probers send none, and each browser sends one.
func AllowHosts(next http.Handler, hosts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isAllowedHost(r.Host, hosts) {
			next.ServeHTTP(w, r)
			return
		}
		text := fmt.Sprintf("host %q is not served: use localhost or a loopback address; a proxy must send one of them as Host", r.Host)
		http.Error(w, text, http.StatusMisdirectedRequest)
	})
}

// isAllowedHost reports whether header, the value of a Host header, names this machine or is in hosts.
func isAllowedHost(header string, hosts []string) bool {
	host := hostOf(header)
	addr, err := netip.ParseAddr(host)
	isLoopback := err == nil && addr.Unmap().IsLoopback()
	isListed := slices.ContainsFunc(hosts, func(listed string) bool { return strings.EqualFold(host, hostOf(listed)) })
	return host == "" || isLoopback || strings.EqualFold(host, "localhost") || isListed
}

// hostOf returns header without its port, without the brackets of an IPv6 address, and without the dot
// that ends a fully qualified name.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil { // header has no port
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return strings.TrimSuffix(host, ".")
}
