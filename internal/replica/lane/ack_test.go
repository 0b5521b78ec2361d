package lane

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"testing"
)

var goodAck = Ack{Session: 9, Term: 3, Received: 100, Durable: 90, Applied: 99, Consumed: 4096, Echo: 77}

func encodeAck(a Ack) []byte {
	b := make([]byte, AckBytes)
	a.Put(b)
	return b
}

// TestAckLayout: the bytes are those of the table in ack.go.
func TestAckLayout(t *testing.T) {
	a := Ack{Session: 1, Term: 2, Received: 5, Durable: 3, Applied: 4, Consumed: 0x1008, Echo: -2}
	const want = "0100000000000000" + "0200000000000000" + "0500000000000000" + "0300000000000000" +
		"0400000000000000" + "0810000000000000" + "feffffffffffffff" + "00000000"
	if got := hex.EncodeToString(encodeAck(a)[:offAckSum]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, a := range []Ack{a, goodAck, {Consumed: 8}} {
		if got, err := DecodeAck(encodeAck(a)); err != nil || got != a {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestTornAck: a line of which only some bytes have arrived is not taken.
func TestTornAck(t *testing.T) {
	old := encodeAck(goodAck)
	next := goodAck
	next.Session, next.Received, next.Consumed, next.Echo = 10, 200, 8192, 88
	is := encodeAck(next)
	for n := 1; n < AckBytes; n++ {
		for _, b := range [][]byte{append(bytes.Clone(is[:n]), old[n:]...), append(bytes.Clone(old[:n]), is[n:]...)} {
			if bytes.Equal(b, old) || bytes.Equal(b, is) {
				continue
			}
			if a, err := DecodeAck(b); !errors.Is(err, ErrSum) {
				t.Fatalf("%d bytes: %+v, %v", n, a, err)
			}
		}
	}
}

func TestHostileAcks(t *testing.T) {
	if _, err := DecodeAck(make([]byte, AckBytes)); !errors.Is(err, ErrNone) {
		t.Errorf("zeroed memory: %v", err)
	}
	if _, err := DecodeAck(encodeAck(goodAck)[:AckBytes-1]); !errors.Is(err, ErrInvalid) {
		t.Errorf("a byte short: %v", err)
	}
	for name, mod := range map[string]func(*Ack){
		"term 0":                func(a *Ack) { a.Term = 0 },
		"session 0":             func(a *Ack) { a.Session = 0 },
		"durable, not received": func(a *Ack) { a.Durable = 101 },
		"applied, not received": func(a *Ack) { a.Applied = math.MaxUint64 },
		"half a unit consumed":  func(a *Ack) { a.Consumed++ },
	} {
		a := goodAck
		mod(&a)
		if got, err := DecodeAck(encodeAck(a)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	b := encodeAck(goodAck)
	b[offAckReserved] = 1
	binary.LittleEndian.PutUint32(b[offAckSum:], SumOf(b[:offAckSum]))
	if _, err := DecodeAck(b); !errors.Is(err, ErrInvalid) {
		t.Errorf("reserved: %v", err)
	}
	b = encodeAck(goodAck)
	for i := range AckBytes * 8 {
		b[i/8] ^= 1 << (i % 8)
		if _, err := DecodeAck(b); err == nil {
			t.Errorf("bit %d flipped: no error", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

// TestAckGoesForward: a line that goes back in any number is not the next one,
// except that another session may have fewer revisions.
func TestAckGoesForward(t *testing.T) {
	for name, tc := range map[string]struct {
		mod  func(*Ack)
		want bool
	}{
		"the same":                    {func(*Ack) {}, true},
		"earlier session":             {func(a *Ack) { a.Session-- }, false},
		"lower term":                  {func(a *Ack) { a.Term-- }, false},
		"received less":               {func(a *Ack) { a.Received--; a.Applied-- }, false},
		"durable less":                {func(a *Ack) { a.Durable-- }, false},
		"applied less":                {func(a *Ack) { a.Applied-- }, false},
		"consumed less":               {func(a *Ack) { a.Consumed -= 8 }, false},
		"earlier echo":                {func(a *Ack) { a.Echo-- }, false},
		"higher term, less log":       {func(a *Ack) { a.Term++; a.Received, a.Durable, a.Applied = 1, 1, 1 }, true},
		"next session, less log":      {func(a *Ack) { a.Session++; a.Received, a.Durable, a.Applied, a.Echo = 1, 1, 1, -1 }, true},
		"next session, less consumed": {func(a *Ack) { a.Session++; a.Consumed -= 8 }, false},
	} {
		next := goodAck
		tc.mod(&next)
		if got := next.After(&goodAck); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// FuzzAck: a decoder accepts only what an encoder writes.
func FuzzAck(f *testing.F) {
	f.Add(encodeAck(goodAck))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= AckBytes {
			binary.LittleEndian.PutUint32(b[offAckSum:], SumOf(b[:offAckSum]))
		}
		if a, err := DecodeAck(b); err == nil && !bytes.Equal(encodeAck(a), b[:AckBytes]) {
			t.Errorf("%x is decoded, and encoded as %x", b, encodeAck(a))
		}
	})
}
