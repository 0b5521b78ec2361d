//go:build ofi

package ofi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

// stream is a net.Conn that reads from a buffer.
type stream struct {
	net.Conn
	io.Reader
	io.Writer
}

func (s stream) Read(b []byte) (int, error)  { return s.Reader.Read(b) }
func (s stream) Write(b []byte) (int, error) { return s.Writer.Write(b) }
func (s stream) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 9} }

func frame(body string) []byte {
	b := append(controlMagic[:len(controlMagic):len(controlMagic)], 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(body)))
	return append(b, body...)
}

// TestGreeting: a sent greeting is received, and one that no peer sends is refused.
func TestGreeting(t *testing.T) {
	var sent bytes.Buffer
	in6 := make([]byte, 28)
	binary.NativeEndian.PutUint16(in6, 10) // AF_INET6
	want := greeting{Provider: Verbs, Token: 1 << 63, Private: make([]byte, rdma.MaxPrivateData), Addr: in6, Accepted: true}
	if err := newControl(stream{Writer: &sent}).send(want); err != nil {
		t.Fatal(err)
	}
	got, err := newControl(stream{Reader: &sent}).receive()
	if err != nil || got.Token != want.Token || !bytes.Equal(got.Private, want.Private) || !bytes.Equal(got.Addr, in6) {
		t.Fatalf("%+v, %v", got, err)
	}
	huge := frame("")
	binary.LittleEndian.PutUint32(huge[8:], maxGreeting+1)
	for name, b := range map[string][]byte{
		"another protocol": []byte("GET / HTTP/1.1\r\n\r\n"),
		"too long":         huge,
		"no JSON":          frame("{"),
		"private data":     frame(`{"private":"` + strings.Repeat("AAAA", 20) + `"}`),
		"short address":    frame(`{"addr":"AgA="}`),
	} {
		if g, err := newControl(stream{Reader: bytes.NewReader(b)}).receive(); !errors.Is(err, errProtocol) {
			t.Errorf("%s: %+v, %v, want a protocol violation", name, g, err)
		}
	}
	if _, err := newControl(stream{Reader: bytes.NewReader(huge[:5])}).receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut greeting: %v", err)
	}
}

// FuzzGreeting: any bytes are a greeting or an error.
func FuzzGreeting(f *testing.F) {
	f.Add(frame(`{"provider":"tcp","token":"5"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := newControl(stream{Reader: bytes.NewReader(b)}).receive()
		if err == nil && g.Addr != nil && ipOf(g.Addr) == "" {
			t.Fatalf("%x is no address", g.Addr)
		}
	})
}

// TestBadConnections: connections that send nothing, garbage, or another
// provider do not block the next dialer.
func TestBadConnections(t *testing.T) {
	open := func() *device {
		d, err := openForTest(TCP)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d.(*device)
	}
	s, c := open(), open()
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{nil, []byte("rubbish that is long enough"), frame(`{"provider":"cxi"}`)} {
		conn, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	cq, err := c.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	scq, err := s.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		req, err := l.Accept(t.Context())
		if err == nil {
			_, err = req.Accept(rdma.QPConfig{SendCQ: scq, RecvCQ: scq}, nil)
		}
		accepted <- err
	}()
	q, err := c.Dial(t.Context(), l.Addr(), rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	mem, err := c.Register(64, rdma.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	// A request beyond what the device takes is refused, not sent.
	c.maxBytes = 32
	wr := rdma.WorkRequest{Op: rdma.OpWrite, Local: rdma.Buffer{Region: mem, Len: 64}}
	if n, err := q.Post([]rdma.WorkRequest{wr}); n != 0 || !errors.Is(err, rdma.ErrBadRequest) {
		t.Errorf("64 bytes where 32 are allowed: %d, %v", n, err)
	}
}

// TestNoDevice: the error names the missing device, and the existing ones.
func TestNoDevice(t *testing.T) {
	for _, o := range []Options{{Provider: TCP, Device: "no such device"}, {Provider: TCP, Addr: "192.0.2.1"}} {
		_, err := Open(o)
		if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), o.Device+o.Addr) ||
			!strings.Contains(err.Error(), "there is tcp") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
