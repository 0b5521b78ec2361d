package sim

import (
	"fmt"
	"math"

	"github.com/catfish-index/catfish/bench/harness"
)

// MicroOp is an operation of the paper's figure 9.
type MicroOp string

// The operations, with the names of package micro.
const (
	MicroTCP   MicroOp = "tcp"   // 1 byte to the server, an answer of n bytes back
	MicroRead  MicroOp = "read"  // RDMA Read of n bytes
	MicroWrite MicroOp = "write" // RDMA Write of n bytes
)

// ackBytes is the extended header of the acknowledgement that completes a
// Write (InfiniBand specification 1.4, section 9.3.5).
const ackBytes = 4

// MicroUs returns how many us one request of n bytes takes on a cluster
// without any other load, by the cards and links of every simulation: figure 9
// of the paper, simulated. gbits is Config.TCPGbits, and of op MicroTCP only.
// Errors wrap harness.ErrConfig.
//
// A Write's bytes go to the server and an acknowledgement comes back; a Read's
// request goes to the server and its bytes come back. The model has no bus
// between card and memory, over which a card must fetch the bytes of a Read
// but need not wait for those of a Write: so Read and Write are nearly equal,
// while in the paper a small Read takes longer. And the slower of two links
// counts only if it is the sender's.
//
// A socket has only the costs that [tcp] names: no worker is woken, and no
// tree searched. Processors handle the packets of an answer sequentially,
// while others are on the link.
func (c *Cluster) MicroUs(op MicroOp, n int, gbits float64) (float64, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	nic, err := c.tcpNIC(gbits)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > maxMicroBytes {
		return 0, fmt.Errorf("%w: a request of %d bytes, want 1 to %d", harness.ErrConfig, n, maxMicroBytes)
	}
	bytes := float64(n)
	client, server := newCard(c.Client.NIC, 1), newCard(c.Server.NIC, 1)
	far := c.Fabric.LatencyNs
	at := c.Client.PostNs
	switch op {
	case MicroRead:
		at = client.start(int64(at), readRequestBytes) + far
		at = server.reply(server.serve(ns(at), readRequestBytes), bytes) + far
		at = client.receive(ns(at), bytes)
	case MicroWrite:
		at = client.start(int64(at), bytes) + far
		at = server.reply(server.serve(ns(at), bytes), ackBytes) + far
		at = client.receive(ns(at), ackBytes)
	case MicroTCP:
		return c.socketNs(nic, bytes) / 1e3, nil
	default:
		return 0, fmt.Errorf("%w: operation %q, want tcp, read or write", harness.ErrConfig, op)
	}
	return (at + c.Client.CompletionNs) / 1e3, nil
}

// maxMicroBytes is far above the paper's largest size, 8 MiB.
const maxMicroBytes = 1 << 30

// socketNs is the time of a request of one byte and its answer. The costs of a
// request that do not depend on its bytes are half for sending and half for
// receiving, at either side.
func (c *Cluster) socketNs(nic NIC, answer float64) float64 {
	client, server := newCard(nic, 1), newCard(nic, 1)
	t := &c.TCP
	at := t.ClientNs/2 + t.ByteNs
	at = client.start(ns(at), 1) + t.LatencyNs
	at = server.serve(ns(at), 1)
	at += t.ServerNs + t.ByteNs
	var sends, takes meter
	for left := answer; left > 0; left -= nic.PacketBytes {
		part := math.Min(left, nic.PacketBytes)
		out := server.start(ns(sends.pass(at, t.ByteNs*part)), part)
		in := client.serve(ns(out+t.LatencyNs), part)
		takes.pass(in, t.ByteNs*part)
	}
	return takes.free + t.ClientNs/2
}

// tcpNIC is the card of scheme tcp, with another rate if gbits is not 0.
func (c *Cluster) tcpNIC(gbits float64) (NIC, error) {
	nic := c.TCP.NIC
	if gbits == 0 {
		return nic, nil
	}
	f, err := c.field("tcp.nic.gbit_s")
	if err != nil {
		return nic, err
	}
	// Written so that a NaN is out of range.
	if !(gbits >= f.min && gbits <= f.max) {
		return nic, fmt.Errorf("%w: Ethernet of %v Gbit/s, want 0 or %v to %v", harness.ErrConfig, gbits, f.min, f.max)
	}
	nic.Gbits = gbits
	return nic, nil
}
