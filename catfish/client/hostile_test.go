package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// TestHostile: peers that send garbage lose their connection, or get an
// error; a well-behaved client of the same server notices nothing.
func TestHostile(t *testing.T) {
	s := startServer(t, server.Options{})
	good := make([]*Client, 0, 3)
	for _, tr := range oneSided {
		good = append(good, dial(t, s, Options{Transport: tr, Policy: "offload"}), dial(t, s, Options{Transport: tr, Policy: "fast"}))
	}
	if err := good[0].Insert(t.Context(), square(0, 0), 1); err != nil {
		t.Fatal(err)
	}
	for name, attack := range map[string]func(*testing.T, *server.Server){
		"streams":  attackStreams,
		"requests": attackRequests,
		"keys":     attackKeys,
		"channels": attackReadChannels,
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, s)
			for _, c := range good {
				if n, err := c.Count(t.Context(), square(0, 0)); n != 1 || err != nil {
					t.Fatalf("client on %s, policy %s, beside the attack: %d, %v", c.Info().Transport, c.Info().Policy, n, err)
				}
				if c.Counters().Reconnects != 0 {
					t.Fatal("a well-behaved client lost its connection")
				}
			}
			if err := tree(t, s).Check(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// attackStreams writes garbage to the TCP port, as each kind of stream.
func attackStreams(t *testing.T, s *server.Server) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 60 {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if i%4 > 0 {
			p := wire.Preamble(wire.ProtocolVersion, uint16(i%4))
			c.Write(p[:])
		}
		junk := make([]byte, 1+r.IntN(300))
		for j := range junk {
			junk[j] = byte(r.Uint32())
		}
		c.Write(junk)
		c.Close()
	}
	// A frame that claims 4 GiB.
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := wire.Preamble(wire.ProtocolVersion, wire.StreamTCP)
	c.Write(append(p[:], bytes.Repeat([]byte{0xff}, wire.FrameBytes)...))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("huge frame: %d bytes, %v, want the connection's end", n, err)
	}
}

// attackRequests sends malformed requests in well-formed messages: each
// gets a failure that errors.Is recognises, and changes nothing.
func attackRequests(t *testing.T, s *server.Server) {
	nan, inf := math.NaN(), math.Inf(1)
	item := func(r rstar.Rect) []byte {
		return wire.AppendItem(wire.AppendHead(nil, 0, 0), rstar.Item{Rect: r, ID: 9})
	}
	for _, p := range []path{{transport: model.TransportTCP, policy: "tcp"}, {transport: model.TransportSHM}, {transport: model.TransportSoft}} {
		c := dial(t, s, p.options())
		for _, a := range []struct {
			kind    fastmsg.Kind
			payload []byte
			want    error
		}{
			{wire.KindSearch, nil, model.ErrProtocol},
			{wire.KindSearch, make([]byte, 7), model.ErrProtocol},
			{wire.KindSearch, make([]byte, 41), model.ErrProtocol},
			{wire.KindSearch, wire.AppendRect(wire.AppendHead(nil, 77, 0), square(0, 0)), model.ErrUnknownCollection},
			{wire.KindInsertMany, wire.AppendHead(nil, 0, 5), model.ErrProtocol},
			{wire.KindInsertMany, wire.AppendHead(nil, 0, math.MaxUint32), model.ErrProtocol},
			{99, wire.AppendHead(nil, 0, 0), model.ErrProtocol},
			{wire.KindSearchMany, wire.AppendHead(nil, 0, 0), model.ErrProtocol},
			{wire.KindSearchMany, wire.AppendRect(wire.AppendHead(nil, 0, 2), square(0, 0)), model.ErrProtocol},
			{wire.KindSearchMany, wire.AppendHead(nil, 0, math.MaxUint32), model.ErrProtocol},
			{wire.KindSearchMany, append(wire.AppendHead(nil, 0, wire.MaxMany+1), make([]byte, (wire.MaxMany+1)*wire.RectBytes)...), model.ErrProtocol},
			{wire.KindSearchMany, wire.AppendRect(wire.AppendHead(nil, 77, 1), square(0, 0)), model.ErrUnknownCollection},
			{wire.KindSearchMany, wire.AppendRect(wire.AppendRect(wire.AppendHead(nil, 0, 2), square(0, 0)), rstar.Rect{MinX: nan}), rstar.ErrBadRect},
			{wire.KindInsert, item(rstar.Rect{MinX: nan}), rstar.ErrBadRect},
			{wire.KindInsert, item(rstar.Rect{MaxX: inf}), rstar.ErrBadRect},
			{wire.KindInsert, item(rstar.Rect{MinY: 2, MaxY: 1}), rstar.ErrBadRect},
			{wire.KindDelete, item(rstar.Rect{MinX: nan}), rstar.ErrBadRect},
			{wire.KindSearch, wire.AppendRect(wire.AppendHead(nil, 0, 0), rstar.Rect{MinX: nan}), rstar.ErrBadRect},
			{wire.KindOpen, []byte("no such"), model.ErrUnknownCollection},
			{wire.KindOpen, nil, model.ErrUnknownCollection},
		} {
			before := tree(t, s).Len()
			_, err := RawCall(t.Context(), c, wire.RawMessage{Kind: a.kind, Body: a.payload})
			if !errors.Is(err, a.want) {
				t.Errorf("%s: kind %d, payload %x: %v, want %v", p.transport, a.kind, a.payload, err, a.want)
			}
			if tree(t, s).Len() != before {
				t.Fatalf("%s: kind %d changed the tree", p.transport, a.kind)
			}
		}
		// The client's own checks come first, and name the value.
		if err := c.Insert(t.Context(), rstar.Rect{MinX: nan}, 1); !errors.Is(err, rstar.ErrBadRect) || !strings.Contains(err.Error(), "NaN") {
			t.Errorf("insert of NaN: %v", err)
		}
	}
}

// attackKeys reads and writes with wrong keys, out of bounds and without
// the right: the attacker's connection ends.
func attackKeys(t *testing.T, s *server.Server) {
	for _, tr := range oneSided {
		for _, a := range []struct {
			name   string
			op     rdma.Op
			key    rdma.Key // flips bits
			offset uint64
			want   rdma.Status
		}{
			{"wrong key", rdma.OpRead, 1, 0, rdma.StatusRemoteKey},
			{"out of bounds", rdma.OpRead, 0, 1 << 40, rdma.StatusRemoteBounds},
			{"write to the slab", rdma.OpWrite, 0, 0, rdma.StatusRemoteAccess},
		} {
			c := dial(t, s, Options{Transport: tr, Policy: "offload"})
			if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
				t.Fatal(err)
			}
			ses := c.conn.sessions.latest()
			o, err := ses.open(t.Context(), model.DefaultCollection)
			if err != nil {
				t.Fatal(err)
			}
			at := o.Base.At(a.offset)
			at.Key ^= a.key
			if st := rawOp(t, ses, a.op, at); st != a.want && (st == rdma.StatusOK || ses.dev.Info().Faults == rdma.FaultsExact) {
				t.Errorf("%s, %s: %v, want %v", tr, a.name, st, a.want)
			}
		}
	}
}

// rawOp posts one operation on a separate read channel.
func rawOp(t *testing.T, s *session, op rdma.Op, at rdma.Remote) rdma.Status {
	t.Helper()
	cq, err := s.dev.CreateCQ(8)
	if err != nil {
		t.Fatal(err)
	}
	defer cq.Close()
	mem, err := s.dev.Register(4096, rdma.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	qp, err := s.dev.Dial(t.Context(), s.addr, rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, wire.ReadChannelPrivate(s.hello.BootID))
	if err != nil {
		t.Fatal(err)
	}
	defer qp.Close()
	_, err = qp.Post([]rdma.WorkRequest{{Op: op, ID: 1, Local: rdma.Buffer{Region: mem, Len: 64}, Remote: at}})
	if err != nil {
		t.Fatal(err)
	}
	var done [4]rdma.Completion
	for {
		if err := cq.Wait(t.Context(), -1); err != nil {
			t.Fatal(err)
		}
		for _, c := range done[:cq.Poll(done[:])] {
			if c.Op == op {
				return c.Status
			}
		}
	}
}

// attackReadChannels opens read channels with wrong hellos.
func attackReadChannels(t *testing.T, s *server.Server) {
	for _, tr := range oneSided {
		c := dial(t, s, Options{Transport: tr})
		ses := c.conn.sessions.latest()
		for _, private := range [][]byte{
			nil, {1, 2, 3}, wire.ReadChannelPrivate(s.BootID())[:9], wire.ReadChannelPrivate(s.BootID() + 1),
			append(wire.ReadChannelPrivate(s.BootID()), 0), make([]byte, rdma.MaxPrivateData),
		} {
			cq, err := ses.dev.CreateCQ(1)
			if err != nil {
				t.Fatal(err)
			}
			qp, err := ses.dev.Dial(t.Context(), ses.addr, rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, private)
			if !errors.Is(err, rdma.ErrRejected) {
				t.Errorf("%s: hello %x: %v, want a refusal", tr, private, err)
			}
			if err == nil {
				qp.Close()
			}
			cq.Close()
		}
	}
}

// FuzzFrame: the plain-socket decoder takes any bytes.
func FuzzFrame(f *testing.F) {
	f.Add(wire.AppendFrame(nil, wire.KindSearch, 1, []byte("abc")))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		kind, id, p, err := wire.ReadFrame(r, nil, wire.MaxRequest)
		if err == nil && !bytes.Equal(wire.AppendFrame(nil, kind, id, p)[8:], b[8:wire.FrameBytes+len(p)]) {
			t.Fatalf("%x decoded to %d %d %x", b, kind, id, p)
		}
	})
}

// FuzzAnswers: a client takes any answer from a server without panic.
func FuzzAnswers(f *testing.F) {
	f.Add(wire.OpenReply{Coll: 1, NodeBytes: 704, Base: rdma.Remote{Key: 3, Addr: 5}, SlabBytes: 4}.Append(nil))
	f.Add(wire.AppendFailure(nil, rstar.ErrSlabFull, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := wire.GetOpenReply(b); err == nil && !bytes.Equal(o.Append(nil), b) {
			t.Fatalf("%x decoded to %+v", b, o)
		}
		if wire.GetFailure(b) == nil {
			t.Fatal("a failure became success")
		}
		if items, err := wire.AppendItems(nil, b); err == nil && len(items) != len(b)/wire.ItemBytes {
			t.Fatal(len(items))
		}
	})
}

// TestHelloGarbage: a server that answers garbage counts as no server.
func TestHelloGarbage(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
			c.Close()
		}
	}()
	_, err = Dial(context.Background(), l.Addr().String(), Options{Logger: quiet()})
	if !errors.Is(err, model.ErrNoServer) {
		t.Errorf("%v", err)
	}
}
