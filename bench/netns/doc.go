// Package netns puts a network of a known rate between processes of one
// machine: two network namespaces, joined by a pair of virtual Ethernet
// devices, each of which sends through a token bucket.
//
//	namespace of the server            namespace of the clients
//	  198.18.0.1/30                      198.18.0.2/30
//	  veth "wire" -- tbf -->  <-- tbf -- veth "wire"
//
// The addresses are those for benchmarks (RFC 2544, section C.2.2): they are
// routed nowhere, and both ends live inside the namespaces, so nothing in the
// machine's own network changes. tbf (tc-tbf(8)) limits the bytes that an end
// sends, headers included; it adds no delay, and the machine's processors do
// the work of a card, on the sender's core.
//
// A Switch joins more namespaces, without a rate, and can cut and delay what goes from
// one to another; it needs ip and /dev/net/tun, and no module of tc.
//
// It needs root and iproute2 (ip and tc); Available says what is missing.
// Close removes everything. A killed process cannot: Clean finds and removes
// the namespaces of dead processes.
package netns
