package client

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
)

// testdata/protocol3.txt is what a client and a server of protocol 3 sent each other when
// it was recorded, at the version before v0.1. This program does not generate or change
// it: servers must understand such clients, and clients such servers
// (docs/compatibility.md).
//
//	> hex       what the client sends
//	< hex       what the server answers; ?? is any byte, * any bytes up to
//	            the end of the frame
//	name: hex   bytes that travel elsewhere, with ?? for what differs

// frozen reads the lines of a transcript, and the named bytes.
func frozen(t *testing.T) (lines []string, named map[string]string) {
	t.Helper()
	b, err := os.ReadFile("testdata/protocol3.txt")
	if err != nil {
		t.Fatal(err)
	}
	named = map[string]string{}
	for l := range strings.Lines(string(b)) {
		l, _, _ = strings.Cut(l, "#")
		l = strings.TrimSpace(l)
		if name, bytes, ok := strings.Cut(l, ": "); ok {
			named[name] = strings.ReplaceAll(bytes, " ", "")
		} else if l != "" {
			lines = append(lines, l[:1]+strings.ReplaceAll(l[1:], " ", ""))
		}
	}
	return lines, named
}

// matches compares bytes with a pattern of a transcript.
func matches(pattern string, b []byte) bool {
	got := hex.EncodeToString(b)
	p, open := strings.CutSuffix(pattern, "*")
	if len(got) < len(p) || len(got) > len(p) && !open {
		return false
	}
	for i := range p {
		if p[i] != '?' && p[i] != got[i] {
			return false
		}
	}
	return true
}

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFrozenTCP: an old client over a plain socket gets answers that it
// understands.
func TestFrozenTCP(t *testing.T) {
	s := startServer(t, server.Options{SlabBytes: 1 << 20, Transports: []string{model.TransportSoft}})
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines, _ := frozen(t)
	answers := 0
	for _, l := range lines {
		if l[0] == '>' {
			if _, err := c.Write(fromHex(t, l[1:])); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			t.Fatalf("want %s: %v", l, err)
		}
		n := binary.LittleEndian.Uint32(head[:])
		if n > 1<<16 {
			t.Fatalf("frame of %d bytes", n)
		}
		b := append(head[:], make([]byte, n-4)...)
		if _, err := io.ReadFull(c, b[4:]); err != nil {
			t.Fatal(err)
		}
		if !matches(l[1:], b) {
			t.Errorf("answer %d:\n got %x\nwant %s", answers, b, l[1:])
		}
		answers++
	}
	if answers < 10 {
		t.Errorf("%d answers", answers)
	}
}

// TestFrozenServer: a client understands an old server, which answers each
// request as it did then, and sends it the same bytes.
func TestFrozenServer(t *testing.T) {
	lines, named := frozen(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const boot = 0x1122334455667788
	done := make(chan error, 1)
	go func() { done <- playOldServer(l, lines, string(fromHex(t, named["hello"]))) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := Dial(ctx, l.Addr().String(), Options{Transport: model.TransportTCP, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Info().BootID != boot {
		t.Errorf("boot id %#x", c.Info().BootID)
	}
	if err := c.Insert(ctx, square(0, 0), 1); err != nil {
		t.Error(err)
	}
	if items, err := c.Search(ctx, square(0, 0)); err != nil || len(items) != 1 || items[0].ID != 1 {
		t.Error(items, err)
	}
	if n, err := c.Count(ctx, square(0, 0)); n != 1 || err != nil {
		t.Error(n, err)
	}
	if near, err := c.Nearest(ctx, 5, 0, 3); err != nil || len(near) != 1 || near[0].Dist != 4 {
		t.Error(near, err)
	}
	if ok, err := c.Update(ctx, square(0, 0), square(1, 1), 1); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := c.Delete(ctx, square(9, 9), 1); ok || err != nil {
		t.Error(ok, err)
	}
	if err := c.Check(ctx); err != nil {
		t.Error(err)
	}
	if other, err := c.Collection("none"); err != nil {
		t.Error(err)
	} else if _, err := other.Count(ctx, square(0, 0)); !errors.Is(err, model.ErrUnknownCollection) {
		t.Error(err)
	}
	c.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// playOldServer sends the hello, and then answers each frame as the transcript
// does. A frame that is not in the transcript ends it with an error.
func playOldServer(l net.Listener, lines []string, hello string) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		r := bufio.NewReader(c)
		var p [wire.PreambleBytes]byte
		if _, err := io.ReadFull(r, p[:]); err != nil {
			return err
		}
		if binary.LittleEndian.Uint16(p[6:]) == wire.StreamHello {
			if _, err := io.WriteString(c, hello); err != nil {
				return err
			}
			c.Close()
			continue
		}
		defer c.Close()
		if want := lines[0][1:]; hex.EncodeToString(p[:]) != want {
			return errors.New("the client begins with " + hex.EncodeToString(p[:]))
		}
		for {
			kind, id, payload, err := wire.ReadFrame(r, nil, wire.MaxRequest)
			if err != nil {
				return nil // the client has left
			}
			ans := answerOf(lines, hex.EncodeToString(wire.AppendFrame(nil, kind, 0, payload)))
			if ans == nil {
				return errors.New("the client sends what no old one did: " + hex.EncodeToString(payload))
			}
			binary.LittleEndian.PutUint64(ans[8:], id)
			if _, err := c.Write(ans); err != nil {
				return err
			}
		}
	}
}

// answerOf finds the answer to a request, whatever the request's number is.
func answerOf(lines []string, request string) []byte {
	for i, l := range lines {
		if l[0] != '>' || len(l) != 1+len(request) || l[1:17] != request[:16] || l[33:] != request[32:] {
			continue
		}
		a := strings.ReplaceAll(strings.TrimSuffix(lines[i+1][1:], "*"), "????????????????", "8877665544332211")
		b, err := hex.DecodeString(strings.ReplaceAll(a, "????????", "00000000"))
		if err != nil {
			return nil
		}
		binary.LittleEndian.PutUint32(b, uint32(len(b)))
		return b
	}
	return nil
}

// TestFrozenHellos: an old client's ring and read channels are accepted, and
// this client sends the same.
func TestFrozenHellos(t *testing.T) {
	s := startServer(t, server.Options{Transports: []string{model.TransportSoft}})
	_, named := frozen(t)
	if !matches(named["read channel"], wire.ReadChannelPrivate(s.BootID())) {
		t.Errorf("read channel hello %x", wire.ReadChannelPrivate(s.BootID()))
	}
	if !matches(named["ring hello"], wire.AppendClientHello(nil, s.BootID(), 20*time.Millisecond, true)) {
		t.Errorf("ring hello %x", wire.AppendClientHello(nil, s.BootID(), 20*time.Millisecond, true))
	}
	c := dial(t, s, Options{Transport: model.TransportSoft})
	ses := c.conn.sessions.latest()
	boot := hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, s.BootID()))
	for _, name := range []string{"read channel", "ring"} {
		private := fromHex(t, strings.Replace(named[name], "????????????????", boot, 1))
		cq, err := ses.dev.CreateCQ(4)
		if err != nil {
			t.Fatal(err)
		}
		qp, err := ses.dev.Dial(t.Context(), ses.addr, rdma.QPConfig{SendCQ: cq, RecvCQ: cq, SendDepth: 2, RecvDepth: 2}, private)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			cq.Close()
			continue
		}
		if name == "ring" && !matches(named["ring answer"], qp.PrivateData()) {
			t.Errorf("the server answers a ring with %x", qp.PrivateData())
		}
		qp.Close()
		cq.Close()
	}
}
