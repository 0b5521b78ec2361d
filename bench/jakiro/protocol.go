package jakiro

import (
	"context"

	"github.com/catfish-index/catfish/internal/rdma"
)

// protocol is what differs, at client and server threads, between RFP's buffers (rfp) and
// HydraDB's messages (indicators).
type protocol interface {
	// A client's side. ask makes what a connection needs first, and returns the bytes that say so to
	// the server; laneBytes is the memory of a lane, where put encodes a request; take looks once
	// for the answer, and appends it to dst.
	ask(dev rdma.Device, l *lane, maxBody int) ([]byte, error)
	laneBytes(maxBody int) int
	put(b, body []byte) int
	take(ctx context.Context, c *Client, l *lane, dst []byte) (_ []byte, there bool, err error)

	// The server's. refuses gets askBytes bytes of ask, and buffers makes what they ask for; find looks
	// once for a request; answer clears it, of which the body has asked bytes, and answers; rest
	// is what a thread does after idle looks in a row that found nothing.
	askBytes() int
	refuses(ask []byte, maxBody int) string
	buffers(dev rdma.Device, c *slot, ask []byte, maxBody int) error
	find(mem []byte) (body []byte, there, bad bool)
	answer(ctx context.Context, c *slot, asked int, result []byte) error
	rest(idle int, emulated bool)
}
