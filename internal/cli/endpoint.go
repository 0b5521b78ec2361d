package cli

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// defaultPort is below the ephemeral ports of Linux (32768 and up).
const defaultPort = "7119"

// defaultAddr is the default address of servers and clients: this machine only.
const defaultAddr = "127.0.0.1:" + defaultPort

// withPort adds the default port to a host without one: a name, an IPv4
// address, or an IPv6 address with or without brackets.
func withPort(addr string) string {
	host := addr
	if strings.HasPrefix(addr, "[") && strings.HasSuffix(addr, "]") {
		host = addr[1 : len(addr)-1]
	}
	switch ip, err := netip.ParseAddr(host); {
	case err == nil && ip.Is6():
	case err == nil && host == addr:
	case addr == "" || strings.ContainsAny(addr, ":[]") || strings.Trim(addr, "0123456789") == "":
		return addr // A number alone is a port rather than a host.
	}
	return net.JoinHostPort(host, defaultPort)
}

// Endpoint is CheckAddr for an address that may lack its port.
func Endpoint(flag, addr string, least uint64) (string, error) {
	full := withPort(addr)
	if err := CheckAddr(flag, full, least); err != nil {
		return "", BadUsage("--%s %q, want host or host:port with a port from %d to 65535", flag, addr, least)
	}
	return full, nil
}

// endpoints is Endpoint for the addresses of a server, or of several members of a group.
func endpoints(flag, addrs string) (string, error) {
	all := strings.Split(addrs, ",")
	for i, a := range all {
		full, err := Endpoint(flag, a, 1)
		if err != nil {
			return "", err
		}
		all[i] = full
	}
	return strings.Join(all, ","), nil
}

// CheckAddr checks the form of host:port. A listener may take port 0.
func CheckAddr(flag, addr string, least uint64) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		var n uint64
		if n, err = strconv.ParseUint(port, 10, 16); err == nil && n >= least {
			return nil
		}
	}
	return BadUsage("--%s %q, want host:port with a port from %d to 65535", flag, addr, least)
}
