package lane

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

var (
	goodHello   = Hello{Boot: 1, Ticket: 5, Group: 2, Member: 3, Ring: rdma.Remote{Key: 6, Addr: 7}, RingBytes: 64 << 20}
	goodWelcome = Welcome{Ack: rdma.Remote{Key: 1, Addr: 2}}
)

// TestHelloLayout: the bytes are those of the table in hello.go, and fit into
// what every provider carries.
func TestHelloLayout(t *testing.T) {
	const hello = "43464c47" + "0100" + "0000" + "0100000000000000" + "0500000000000000" + "02000000" + "03000000" +
		"0600000000000000" + "0700000000000000" + "00000004" + "00000000"
	const welcome = "43464c47" + "0100" + "0000" + "0100000000000000" + "0200000000000000"
	if got := hex.EncodeToString(goodHello.Encode()); got != hello {
		t.Errorf("got  %s\nwant %s", got, hello)
	}
	if got := hex.EncodeToString(goodWelcome.Encode()); got != welcome {
		t.Errorf("got  %s\nwant %s", got, welcome)
	}
	if HelloBytes > rdma.MaxPrivateData || WelcomeBytes > rdma.MaxPrivateData {
		t.Errorf("%d and %d bytes, private data has %d", HelloBytes, WelcomeBytes, rdma.MaxPrivateData)
	}
	for _, h := range []Hello{goodHello, {Boot: 1, Ticket: 5, Group: 2, Member: 3, Copy: true}} {
		if got, err := DecodeHello(h.Encode()); err != nil || got != h {
			t.Errorf("%+v, %v, want %+v", got, err, h)
		}
	}
	if got, err := DecodeWelcome(goodWelcome.Encode()); err != nil || got != goodWelcome {
		t.Errorf("%+v, %v", got, err)
	}
	if !IsHello(hello2) || IsHello(hello2[:3]) || IsHello([]byte("CFMG....")) {
		t.Error("hellos are not told from others")
	}
}

// hello2 is of a later version.
var hello2 = []byte("CFLG\x02\x00")

func TestHostileHellos(t *testing.T) {
	hello := func(at int, with byte) []byte {
		b := goodHello.Encode()
		b[at] = with
		return b
	}
	mod := func(f func(*Hello)) []byte {
		h := goodHello
		f(&h)
		return h.Encode()
	}
	for name, b := range map[string][]byte{
		"nothing":                 nil,
		"magic alone":             []byte(Magic),
		"of messages":             append([]byte("CFMG"), goodHello.Encode()[4:]...),
		"a byte short":            goodHello.Encode()[:HelloBytes-1],
		"a byte long":             append(goodHello.Encode(), 0),
		"a welcome":               goodWelcome.Encode(),
		"flags":                   hello(offHelloFlags, 2),
		"a copy with a ring":      hello(offHelloFlags, 1),
		"a copy without a ticket": (&Hello{Copy: true}).Encode(),
		"reserved":                hello(offHelloZero, 1),
		"no ring":                 mod(func(h *Hello) { h.RingBytes = 0 }),
		"a ring below a page":     mod(func(h *Hello) { h.RingBytes = MinRingBytes - 8 }),
		"a ring above the limit":  mod(func(h *Hello) { h.RingBytes = MaxRingBytes + MinRingBytes }),
		"a ring of 4 GiB":         mod(func(h *Hello) { h.RingBytes = math.MaxUint32 }),
		"a ring not in pages":     mod(func(h *Hello) { h.RingBytes += 8 }),
		"a ring around zero":      mod(func(h *Hello) { h.Ring.Addr = math.MaxUint64 - 100 }),
		"a tail around zero":      mod(func(h *Hello) { h.Ring.Addr = -uint64(h.RingBytes) - 8 }),
		"no ticket":               mod(func(h *Hello) { h.Ticket = 0 }),
		"another version, longer": append(hello(offVersion, 2), 0),
	} {
		if h, err := DecodeHello(b); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
	var version *VersionError
	if _, err := DecodeHello(hello(offVersion, 2)[:offHelloFlags]); !errors.As(err, &version) || version.Theirs != 2 {
		t.Errorf("version 2, of which only the beginning is known: %v", err)
	}
}

func TestHostileWelcomes(t *testing.T) {
	around := Welcome{Ack: rdma.Remote{Addr: math.MaxUint64 - 8}}
	for name, b := range map[string][]byte{
		"a line around zero": around.Encode(),
		"a byte short":       goodWelcome.Encode()[:WelcomeBytes-1],
		"a hello":            goodHello.Encode(),
	} {
		if got, err := DecodeWelcome(b); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// FuzzHello: decoders accept only what encoders write.
func FuzzHello(f *testing.F) {
	f.Add(goodHello.Encode())
	f.Add(goodWelcome.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := DecodeHello(b); err == nil && !bytes.Equal(h.Encode(), b) {
			t.Errorf("%x is decoded, and encoded as %x", b, h.Encode())
		}
		if w, err := DecodeWelcome(b); err == nil && !bytes.Equal(w.Encode(), b) {
			t.Errorf("%x is decoded, and encoded as %x", b, w.Encode())
		}
	})
}
