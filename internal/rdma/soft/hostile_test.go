package soft

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// hostileBytes are streams that no correct peer sends, each with the text of
// the target's error, and the status of the NAK it answers with.
func hostileBytes(key, readOnly rdma.Key, size int) []hostile {
	req := func(op rdma.Op, k rdma.Key, off uint64, n int) []byte {
		b := appendRequest(nil, &rdma.WorkRequest{Op: op,
			Remote: rdma.Remote{Key: k, Addr: off}}, n)
		if op != rdma.OpRead {
			b = append(b, make([]byte, n)...)
		}
		return b
	}
	imm := appendRequest(nil, &rdma.WorkRequest{Op: rdma.OpWriteImm}, 0)
	const (
		protocol = rdma.StatusProtocol
		badKey   = rdma.StatusRemoteKey
		bounds   = rdma.StatusRemoteBounds
		access   = rdma.StatusRemoteAccess
	)
	return []hostile{
		{"garbage", []byte("GET / HTTP/1.1\r\n\r\n"), "kind", protocol},
		{"zeros", make([]byte, 64), "kind 0", protocol},
		{"length too long", []byte{255, 255, 255, 255, kindWrite, 0, 0, 0}, "WRITE frame", protocol},
		{"length too short", []byte{9, 0, 0, 0, kindWrite, 0, 0, 0}, "WRITE frame", protocol},
		{"wrong key", req(rdma.OpWrite, key^1, 0, 8), "remote key", badKey},
		{"key 0", req(rdma.OpRead, 0, 0, 8), "remote key", badKey},
		{"write past the end", req(rdma.OpWrite, key, uint64(size)-4, 8), "bounds", bounds},
		{"write far past", req(rdma.OpWrite, key, 1<<63, 8), "bounds", bounds},
		{"read past the end", req(rdma.OpRead, key, 1, size), "bounds", bounds},
		{"read around zero", req(rdma.OpRead, key, 1<<64-4, 8), "bounds", bounds},
		{"write without right", req(rdma.OpWrite, readOnly, 0, 8), "access", access},
		{"huge read", req(rdma.OpRead, key, 0, 1<<31-1), "READ_REQ", protocol},
		{"event without credit", slices.Repeat(imm, rdma.DefaultDepth+1), "without credit", protocol},
		{"unsolicited ack", appendNumber(nil, kindAck, 1, 0), "ACK of request 1", protocol},
		{"ack of the future", appendNumber(nil, kindAck, 1<<64-1, 0), "ACK", protocol},
		{"unsolicited response", append(appendNumber(nil, kindReadResp, 1, 8), make([]byte, 8)...), "READ_RESP", protocol},
		{"response 0", append(appendNumber(nil, kindReadResp, 0, 8), make([]byte, 8)...), "READ_RESP", protocol},
		{"unsolicited nak", appendNak(nil, 1, badKey), "NAK", protocol},
		{"nak 0", appendNak(nil, 0, badKey), "NAK", protocol},
		{"nak that says ok", appendNak(nil, 1, rdma.StatusOK), "NAK", protocol},
		{"credit never used", appendNumber(nil, kindCredit, 1, 0), "CREDIT", protocol},
	}
}

type hostile struct {
	name  string
	bytes []byte
	says  string
	nak   rdma.Status
}

// TestHostilePeer: the connection ends, the owner gets the reason, the peer
// gets a NAK, memory is unharmed, and other connections continue.
func TestHostilePeer(t *testing.T) {
	const size = 4096
	c, s := open(t, Options{}, size), open(t, Options{}, size)
	l, err := s.dev.Listen("127.0.0.1:0")
	must(t, err)
	connect(c, s, l)
	readOnly, err := s.dev.Register(64, rdma.RemoteRead)
	must(t, err)
	want := slices.Clone(pattern(s.mem.Bytes(), 3))
	for i, h := range hostileBytes(s.mem.Key(), readOnly.Key(), size) {
		t.Run(h.name, func(t *testing.T) {
			p := rawPeer(t, s, l, dialRaw(t, l.Addr()))
			victim := s.q
			_, err := p.conn.Write(h.bytes)
			must(t, err)
			must(t, p.conn.SetDeadline(time.Now().Add(patience)))
			var last frame
			for {
				f, _, err := p.next()
				if err != nil {
					break
				}
				last = f
			}
			if last.kind != kindNak || rdma.Status(last.word) != h.nak {
				t.Errorf("the last frame is %+v, want a NAK with %q", last, h.nak)
			}
			for {
				e := take(t, s.recv, 1)[0]
				if e.QP != victim {
					t.Fatal("event of another queue pair")
				}
				if e.Status != rdma.StatusOK {
					break
				}
			}
			if err := victim.Err(); err == nil || !strings.Contains(err.Error(), h.says) ||
				!errors.Is(err, rdma.ErrQueuePair) {
				t.Errorf("error %v, want %q", err, h.says)
			}
			must(t, victim.Close())
			same(t, "the memory", s.mem.Bytes(), want)
			c.post(event(uint32(i)))
			takeOK(t, c.send, 1)
			takeOK(t, s.recv, 1)
		})
	}
}

// TestHostileAnswers: a target that answers wrongly harms only itself.
func TestHostileAnswers(t *testing.T) {
	p8 := make([]byte, 8)
	for name, answer := range map[string][]byte{
		"read acknowledged":     appendNumber(nil, kindAck, 2, 0),
		"response out of order": append(appendNumber(nil, kindReadResp, 3, 8), p8...),
		"response too short":    append(appendNumber(nil, kindReadResp, 2, 7), p8[:7]...),
		"response too long":     append(appendNumber(nil, kindReadResp, 2, 9), append(p8, 0)...),
		"response to a write":   append(appendNumber(nil, kindReadResp, 1, 8), p8...),
		"nak past the read":     appendNak(nil, 3, rdma.StatusRemoteKey),
		"credit for more":       appendNumber(nil, kindCredit, 2, 0),
		"credit going back": append(appendNumber(nil, kindCredit, 1, 0),
			appendNumber(nil, kindCredit, 0, 0)...),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{}, 64)
			l, err := s.dev.Listen("127.0.0.1:0")
			must(t, err)
			p := rawPeer(t, s, l, dialRaw(t, l.Addr()))
			want := slices.Clone(pattern(s.mem.Bytes(), 4))
			s.post(event(0),
				request(rdma.OpRead, 1, s.mem, 0, 8, s.mem, 0),
				request(rdma.OpWrite, 2, s.mem, 0, 8, s.mem, 0))
			_, err = p.conn.Write(answer)
			must(t, err)
			cs := take(t, s.send, 3)
			if last := cs[2].Status; last != rdma.StatusFlushed && last != rdma.StatusProtocol {
				t.Errorf("the last request's status is %q", last)
			}
			if e := take(t, s.recv, 1)[0]; e.Status != rdma.StatusProtocol {
				t.Errorf("receive status %q, want %q", e.Status, rdma.StatusProtocol)
			}
			if err := s.q.Err(); !errors.Is(err, ErrProtocol) {
				t.Errorf("error %v", err)
			}
			same(t, "the memory", s.mem.Bytes(), want)
		})
	}
}

// TestSlowLoris: a peer that begins a frame and does not continue is cut off
// in bounded time, at each place where it can stop.
func TestSlowLoris(t *testing.T) {
	for _, cut := range []int{1, headBytes, 20, 24, 30} {
		synctest.Test(t, func(t *testing.T) {
			net := newPipes()
			s := open(t, net.options(Options{}), 64)
			l, err := s.dev.Listen("")
			must(t, err)
			conn, err := net.dial(context.Background(), "")
			must(t, err)
			p := rawPeer(t, s, l, conn)
			go func() { // reads everything, sends no more
				for {
					if _, _, err := p.next(); err != nil {
						return
					}
				}
			}()
			b := appendRequest(nil, &rdma.WorkRequest{Op: rdma.OpWrite,
				Remote: rdma.Remote{Key: s.mem.Key()}}, 16)
			b = append(b, make([]byte, 16)...)
			_, err = conn.Write(b[:cut])
			must(t, err)
			start := time.Now()
			must(t, s.recv.Wait(context.Background(), time.Hour))
			took := time.Since(start)
			// Idle connections are probed, an unanswered probe ends them
			// as well.
			if took > DefaultFrameTimeout+time.Second {
				t.Errorf("cut at %d: lasted %v", cut, took)
			}
			if err := s.q.Err(); !errors.Is(err, ErrProtocol) {
				t.Errorf("cut at %d: %v", cut, err)
			}
			must(t, conn.Close())
		})
	}
}

// TestNotReading: a peer that requests and never reads the answers reaches
// the window's limit, and holds no more than two windows in memory.
func TestNotReading(t *testing.T) {
	const window = 1 << 20
	s := open(t, Options{MaxRequest: window}, window)
	l, err := s.dev.Listen("127.0.0.1:0")
	must(t, err)
	p := rawPeer(t, s, l, dialRaw(t, l.Addr()))
	b := appendRequest(nil, &rdma.WorkRequest{Op: rdma.OpRead,
		Remote: rdma.Remote{Key: s.mem.Key()}}, window)
	q := s.q.(*queuePair)
	most := 0
	for range 1000 { // a gigabyte: more than any socket buffers
		if _, err := p.conn.Write(b); err != nil {
			break
		}
		q.mu.Lock()
		most = max(most, q.box.queued())
		q.mu.Unlock()
	}
	if e := take(t, s.recv, 1)[0]; e.Status != rdma.StatusProtocol {
		t.Errorf("receive status %q", e.Status)
	}
	if err := q.Err(); !strings.Contains(err.Error(), "reads in flight") {
		t.Errorf("error %v", err)
	}
	if most > 2*(window+1000) {
		t.Errorf("%d bytes were queued, window %d", most, window)
	}
}

// fuzzRegion lies between two others, which must not change.
const fuzzRegion = 4096

// FuzzTarget feeds bytes to the target's side of a connection.
func FuzzTarget(f *testing.F) {
	for _, h := range hostileBytes(fuzzKey, fuzzKey+1, fuzzRegion) {
		f.Add(h.bytes)
	}
	ok := appendRequest(nil, &rdma.WorkRequest{Op: rdma.OpWriteImm,
		Remote: rdma.Remote{Key: fuzzKey, Addr: 8}}, 8)
	f.Add(append(append(ok, make([]byte, 8)...), ok...))
	f.Fuzz(func(t *testing.T, b []byte) {
		pn := newPipes()
		s := open(t, pn.options(Options{MaxRequest: 1 << 16}), 64)
		mem, free, err := alloc(3 * fuzzRegion)
		must(t, err)
		defer free()
		pattern(mem, 5)
		want := slices.Clone(mem)
		// Known keys, so that the input can use them.
		for i, a := range []rdma.Access{all, rdma.RemoteRead} {
			at := mem[fuzzRegion*(i+1):]
			r := &region{dev: s.dev, mem: at[:fuzzRegion], free: func() {},
				key: fuzzKey + rdma.Key(i), access: a}
			s.dev.regions.Store(r.key, r)
		}
		l, err := s.dev.Listen("")
		must(t, err)
		conn, err := pn.dial(context.Background(), "")
		must(t, err)
		p := rawPeer(t, s, l, conn)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, _, err := p.next(); err != nil {
					_ = conn.Close() // also what the writer waits for
					return
				}
			}
		}()
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		_, _ = conn.Write(b)
		_ = conn.Close() // a pipe's Write returns when all was read
		<-done
		for {
			if e := take(t, s.recv, 1)[0]; e.Status != rdma.StatusOK {
				break
			}
		}
		must(t, s.q.Close())
		same(t, "memory before the region", mem[:fuzzRegion], want[:fuzzRegion])
		same(t, "memory after the region", mem[2*fuzzRegion:], want[2*fuzzRegion:])
	})
}

const fuzzKey = rdma.Key(0x0102030405060708)
