package sim

import "math"

// card is one host's network card: units that start operations (out-bound) and
// serve those of others (in-bound), and a link in each direction.
type card struct {
	in, out, rx, tx  meter
	inNs, outNs      float64 // for one operation
	byteNs           float64 // for one byte on the link
	packet, overhead float64 // largest payload, and the bytes added to each
	sent             float64 // bytes on the link, headers included
	posts            posts
}

// newCard is the card of a host of which up to threads threads start operations.
func newCard(n NIC, threads int) card {
	return card{
		inNs: perOp(n.InMops), outNs: perOp(n.OutMops), byteNs: 8 / n.Gbits,
		packet: n.PacketBytes, overhead: n.HeaderBytes,
		posts: posts{waitNs: n.PostWaitNs, moveNs: n.PostMoveNs, most: threads - 1, last: noThread},
	}
}

// perOp turns millions of operations a second into ns.
func perOp(mops float64) float64 { return 1e3 / mops }

// onWire is the time of a message of bytes bytes on the link.
func (c *card) onWire(bytes float64) float64 {
	return float64(c.wireBytes(bytes) * c.byteNs) // Never fused with a sum: equal on every machine.
}

func (c *card) wireBytes(bytes float64) float64 {
	return bytes + max(1, math.Ceil(bytes/c.packet))*c.overhead
}

// start starts an operation of this host with a message; it returns when the
// last byte is out.
func (c *card) start(now int64, bytes float64) float64 {
	return c.send(c.post(now), bytes)
}

// startAlone is start of an operation that is posted without the doorbell's lock.
func (c *card) startAlone(now int64, bytes float64) float64 {
	return c.send(c.out.pass(float64(now), c.outNs), bytes)
}

// post is the first part of start: it returns when the message may take the
// link. If replies use the link too, the caller calls send only then: a
// message that waits for the unit does not hold the link.
func (c *card) post(now int64) float64 {
	waits := c.posts.waits(float64(now))
	return c.posts.note(c.out.pass(float64(now), c.outNs+waits))
}

// send is the second part.
func (c *card) send(at, bytes float64) float64 {
	c.sent += c.wireBytes(bytes)
	return c.tx.pass(at, c.onWire(bytes))
}

// reply sends the answer to a read: it takes the link, not the units that
// start operations, and follows the units that serve them.
func (c *card) reply(at, bytes float64) float64 {
	c.sent += c.wireBytes(bytes)
	return c.tx.pass(at, c.onWire(bytes))
}

// serve handles an operation of another host; it returns its end.
func (c *card) serve(now int64, bytes float64) float64 {
	return c.in.pass(c.rx.drain(float64(now), c.onWire(bytes)), c.inNs)
}

// receive takes an answer that comes in.
func (c *card) receive(now int64, bytes float64) float64 {
	return c.rx.drain(float64(now), c.onWire(bytes))
}

// ns rounds a time up, so that nothing happens too early.
func ns(t float64) int64 { return int64(math.Ceil(t)) }
