package soft

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/direct"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

// queuePair is one end of a connection.
//
// The send queue sq holds the posted requests that have no answer yet,
// in order; the newest has number posted. Post appends to sq and to the
// outbox under one lock, so both are in the same order. Only the NIC
// goroutine takes requests out of sq and makes completions, so those are
// in posting order, and none is made while that goroutine still writes to
// the destination of a Read.
type queuePair struct {
	dev            *device
	conn           net.Conn
	peer           string
	private        []byte
	context        any
	sendCQ, recvCQ *completionQueue

	// From the handshake, constant.
	sendDepth, recvDepth int
	maxWrite, maxRead    int    // bytes of one request that the peer serves
	readWindow           int    // bytes of READ_RESPs that it keeps for us
	peerRecvDepth        uint64 // WriteImms it takes without CREDIT
	ackAfter             uint64 // unasked requests after which we ACK

	unpolled atomic.Int64           // signaled completions made, not polled
	rx       atomic.Uint64          // socket reads that brought bytes
	inFrame  atomic.Bool            // a long frame is arriving
	arriving atomic.Pointer[region] // whose Write is not there yet
	polled   atomic.Uint64          // receives polled
	credited atomic.Uint64          // receives that the last CREDIT reported; under mu
	dead     atomic.Bool            // failed or closed; set under mu
	cutFor   atomic.Pointer[error]
	stopped  chan struct{} // the NIC goroutine no longer executes anything

	mu         sync.Mutex
	box        outbox
	sq         []pending // ring of sendDepth
	sqHead     int
	sqLen      int
	posted     uint64
	readBytes  int    // of READ_RESP frames that are due to us
	sentImms   uint64 // WRITE_IMMs posted
	creditImms uint64 // of these the peer has polled
	starved    bool   // a Post was refused; wake the owner when that ends
	executed   uint64 // peer's requests executed, as far as published
	cause      error  // why dead
	headStatus rdma.Status
	byOwner    bool // Close was called: no more completions
	farewell   bool // the outbox holds a NAK or BYE worth delivering

	watch watch // of the monitor

	// Of queue pairs that a listener accepted; nil for others.
	place, unsent *limits.Account
}

// pending is a posted request without an answer.
type pending struct {
	id       uint64
	region   *region // destination of a Read; used until completion
	dst      []byte
	n        uint32
	op       rdma.Op
	signaled bool
}

// newQP makes a queue pair for a stream. It runs after start.
func (d *device) newQP(conn net.Conn, peer string, cfg *rdma.QPConfig,
	h *hello) *queuePair {
	q := &queuePair{
		dev:           d,
		conn:          conn,
		peer:          peer,
		private:       h.body,
		context:       cfg.Context,
		sendCQ:        cfg.SendCQ.(*completionQueue),
		recvCQ:        cfg.RecvCQ.(*completionQueue),
		sendDepth:     cfg.SendDepth,
		recvDepth:     cfg.RecvDepth,
		maxWrite:      min(d.opt.MaxRequest, int(h.maxRequest)),
		readWindow:    int(h.readWindow),
		peerRecvDepth: uint64(h.recvDepth),
		// A quarter, so that the initiator does not run out meanwhile.
		ackAfter: max(uint64(h.sendDepth)/4, 1),
		stopped:  make(chan struct{}),
		sq:       make([]pending, cfg.SendDepth),
	}
	q.maxRead = min(q.maxWrite, q.readWindow)
	q.box.direct = direct.New(conn)
	return q
}

// start runs a queue pair whose handshake is done.
func (q *queuePair) start() error {
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return rdma.ErrClosed
	}
	d.qps[q] = struct{}{}
	d.spawnLocked(newReader(q).run)
	if !d.monitoring {
		d.monitoring = true
		d.spawnLocked(d.monitor)
	}
	return nil
}

func (q *queuePair) PrivateData() []byte { return q.private }
func (q *queuePair) Peer() string        { return q.peer }
func (q *queuePair) Context() any        { return q.context }

func (q *queuePair) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cause
}

// Post copies the bytes of Writes, so they are free again at once. It sends
// as much as the stream accepts without blocking, and never waits for the
// peer.
func (q *queuePair) Post(wrs []rdma.WorkRequest) (n int, err error) {
	q.mu.Lock()
	for n = range wrs {
		if err = q.enqueueLocked(&wrs[n]); err != nil {
			break
		}
	}
	if err == nil {
		n = len(wrs)
	}
	if over := q.settleLocked(); over != nil {
		q.cut(over)
	}
	q.flushUnlock()
	return n, err
}

// enqueueLocked checks one request and accepts it, or returns what is wrong with it.
func (q *queuePair) enqueueLocked(wr *rdma.WorkRequest) error {
	if q.cause != nil {
		return q.cause
	}
	local, err := q.localBuffer(wr)
	if err != nil {
		return err
	}
	length := len(local)
	frame := maxFixed
	if wr.Op != rdma.OpRead {
		frame += length
	}
	queued := q.box.queued()
	switch {
	case q.sqLen+int(q.unpolled.Load()) >= q.sendDepth,
		queued > 0 && queued+frame > q.dev.opt.QueuedBytes+maxFixed,
		wr.Op == rdma.OpRead && q.readBytes > 0 &&
			q.readBytes+length+maxFixed > q.readWindow+maxFixed,
		wr.Op == rdma.OpWriteImm && q.sentImms-q.creditImms >= q.peerRecvDepth:
		q.starved = true
		return rdma.ErrQueueFull
	}

	p := pending{id: wr.ID, op: wr.Op, n: uint32(length), signaled: !wr.Unsignaled}
	if length > 0 || wr.Op == rdma.OpRead {
		reg := wr.Local.Region.(*region)
		if !reg.acquire() {
			return fmt.Errorf("%w: the local region is closed", rdma.ErrBadRequest)
		}
		if wr.Op == rdma.OpRead {
			p.region, p.dst = reg, local
		} else {
			defer reg.release()
		}
	}
	q.box.buf = appendRequest(q.box.buf, wr, length)
	switch wr.Op {
	case rdma.OpRead:
		q.readBytes += length + maxFixed
	case rdma.OpWriteImm:
		q.sentImms++
		fallthrough
	default:
		q.box.buf = append(q.box.buf, local...)
	}
	q.sq[(q.sqHead+q.sqLen)%len(q.sq)] = p
	q.sqLen++
	q.posted++
	return nil
}

// localBuffer checks a request on its own and returns its local bytes.
func (q *queuePair) localBuffer(wr *rdma.WorkRequest) ([]byte, error) {
	most := q.maxWrite
	switch wr.Op {
	case rdma.OpWriteImm:
		if wr.Local.Len == 0 {
			return nil, nil
		}
	case rdma.OpWrite:
	case rdma.OpRead:
		most = q.maxRead
	default:
		return nil, fmt.Errorf("%w: op %d, allowed read, write, "+
			"write-with-imm", rdma.ErrBadRequest, uint8(wr.Op))
	}
	b := wr.Local
	r, ok := b.Region.(*region)
	if !ok || r.dev != q.dev {
		return nil, fmt.Errorf("%w: the local region is not of this device",
			rdma.ErrBadRequest)
	}
	if wr.Op == rdma.OpRead && r.access&rdma.LocalWrite == 0 {
		return nil, fmt.Errorf("%w: read into a region without LocalWrite",
			rdma.ErrBadRequest)
	}
	if b.Offset < 0 || b.Len < 0 || b.Offset > len(r.mem) ||
		b.Len > len(r.mem)-b.Offset {
		return nil, fmt.Errorf("%w: local offset %d and length %d exceed "+
			"the region of %d bytes", rdma.ErrBadRequest, b.Offset, b.Len,
			len(r.mem))
	}
	if b.Len > most {
		return nil, fmt.Errorf("%w: %s of %d bytes, this connection allows %d",
			rdma.ErrBadRequest, wr.Op, b.Len, most)
	}
	return r.mem[b.Offset : b.Offset+b.Len], nil
}

// respondLocked queues a READ_RESP of mem. Each line of it is read
// atomically.
func (q *queuePair) respondLocked(seq uint64, mem []byte) {
	b := appendNumber(q.box.buf, kindReadResp, seq, len(mem))
	n := len(b)
	b = grow(b, len(mem))[:n+len(mem)]
	lines.Copy(b[n:], mem)
	q.box.buf = b
	q.box.respBytes += len(mem) + maxFixed
	q.executed, q.box.acked = seq, seq
}

// polledRecv returns a receive. The peer is notified at once when it may have
// few left, otherwise with the next bytes sent to it.
func (q *queuePair) polledRecv() {
	n := q.polled.Add(1)
	if n-q.credited.Load() < uint64(q.recvDepth+1)/2 {
		return
	}
	q.mu.Lock()
	q.box.creditDue = true
	q.flushUnlock()
}

// unstarveLocked notifies the owner that a refused Post may work now.
func (q *queuePair) unstarveLocked() {
	if q.starved {
		q.starved = false
		q.sendCQ.Wake()
	}
}

// Close notifies the peer, and returns when this queue pair no longer touches
// registered memory.
func (q *queuePair) Close() error {
	q.mu.Lock()
	q.byOwner = true
	first := q.failLocked(rdma.StatusFlushed, rdma.ErrClosed)
	if first {
		q.box.buf = appendHeader(q.box.buf, kindBye, false, 0)
		q.farewell = true
	}
	q.flushUnlock()
	if first {
		q.interrupt()
	}
	<-q.stopped
	q.sendCQ.Purge(q)
	if q.recvCQ != q.sendCQ {
		q.recvCQ.Purge(q)
	}
	return nil
}

// failLocked makes the queue pair fail. The oldest request without an answer
// gets status, all others are flushed: by the NIC goroutine, once it has
// noticed. Only the first cause counts; false: there was one before.
func (q *queuePair) failLocked(status rdma.Status, cause error) bool {
	if q.cause != nil {
		return false
	}
	q.cause = fmt.Errorf("%w: %w", rdma.ErrQueuePair, cause)
	q.headStatus = status
	q.dead.Store(true)
	return true
}

// fail is failLocked from outside the NIC goroutine.
func (q *queuePair) fail(status rdma.Status, cause error) {
	q.mu.Lock()
	first := q.failLocked(status, cause)
	q.mu.Unlock()
	if first {
		q.interrupt()
	}
}

// interrupt ends the NIC goroutine's socket read, now or when it starts. Only
// the goroutine that made the queue pair fail calls it: teardown reads once
// more.
func (q *queuePair) interrupt() {
	_ = q.conn.SetReadDeadline(time.Unix(1, 0))
}
