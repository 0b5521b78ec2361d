package limits

import (
	"net"
	"net/netip"
)

// SourceOf names the source of a network connection: its host. Of IPv6 it is
// the network of 64 bits, the smallest that a host gets.
func SourceOf(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok { // most calls: avoids the text form
		if ip := tcp.AddrPort().Addr(); ip.IsValid() {
			return sourceOf(ip)
		}
	}
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		host = addr.String()
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return sourceOf(ip)
}

func sourceOf(ip netip.Addr) string {
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if net, err := ip.Prefix(64); err == nil {
			return net.String()
		}
	}
	return ip.String()
}

// SourceOfPeer names the source of a connection by the name of its peer: the
// host of host:port, otherwise the name itself, such as that of a process.
func SourceOfPeer(peer string) string {
	if _, _, err := net.SplitHostPort(peer); err == nil {
		return SourceOf(peerAddr(peer))
	}
	return peer
}

type peerAddr string

func (peerAddr) Network() string  { return "" }
func (a peerAddr) String() string { return string(a) }
