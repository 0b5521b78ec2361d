package lane

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"testing"
)

// encode encodes a frame.
func encode(f Frame) []byte {
	b := make([]byte, Size(len(f.Payload)))
	f.Put(b)
	return b
}

// frames is one of each kind.
var frames = map[string]Frame{
	"entries": {Kind: Entries, Flags: Ends, Term: 3, Session: 1, First: 100, Committed: 99, Entries: 2, Sent: 7, Payload: []byte("entries of 17 B..")},
	"part":    {Kind: Entries, Flags: Continues, Term: 1, Session: 1, First: 1, Entries: math.MaxUint32, Payload: []byte{1}},
	"beacon":  {Kind: Beacon, Term: math.MaxUint64, Session: math.MaxUint64, First: math.MaxUint64, Committed: math.MaxUint64, Sent: math.MaxUint64},
	"start":   {Kind: Beacon, Flags: Start, Term: 9, Session: 2, First: 8, Committed: 7, Sent: 6},
	"ask":     {Kind: Entries, Flags: Start | Ask | Ends, Term: 9, Session: 2, First: 8, Entries: 1, Payload: []byte{1}},
}

// TestFrameLayout: the bytes are those of the table in frame.go, on every machine
// and in every version.
func TestFrameLayout(t *testing.T) {
	f := Frame{Kind: Entries, Flags: Ends, Term: 0x0102030405060708, Session: 0x5152535455565758, First: 0x1112131415161718,
		Committed: 0x2122232425262728, Entries: 0x31323334, Sent: 0x4142434445464748, Payload: []byte("abc")}
	const want = "48000000" + "01" + "02" + "0000" + "0807060504030201" + "5857565554535251" + "1817161514131211" +
		"2827262524232221" + "4847464544434241" + "34333231" + "03000000" + "19430719" + "00000000" + "6162630000000000"
	if got := hex.EncodeToString(encode(f)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFrames(t *testing.T) {
	for name, f := range frames {
		b := encode(f)
		size, kind, err := Head(b[:HeaderBytes], len(b))
		if err != nil || size != len(b) || kind != f.Kind || size%8 != 0 {
			t.Fatalf("%s: Head is %d bytes of kind %d: %v", name, size, kind, err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(encode(got), b) || !bytes.Equal(got.Payload, f.Payload) {
			t.Errorf("%s: got %+v, want %+v", name, got, f)
		}
	}
}

// TestPayloadInPlace: the payload may be where it belongs before Put.
func TestPayloadInPlace(t *testing.T) {
	f := frames["entries"]
	want := encode(f)
	b := bytes.Repeat([]byte{0xee}, len(want))
	f.Payload = b[HeaderBytes : HeaderBytes+copy(b[HeaderBytes:], f.Payload)]
	if f.Put(b); !bytes.Equal(b, want) {
		t.Error("other bytes")
	}
}

// TestPads: a pad is decoded from its header, whatever the rest of it holds.
func TestPads(t *testing.T) {
	for _, n := range []int{HeaderBytes, 72, 4096} {
		b := bytes.Repeat([]byte{0xee}, n)
		PutPad(b, 5)
		size, kind, err := Head(b, n)
		if err != nil || size != n || kind != Pad {
			t.Fatalf("Head is %d bytes of kind %d: %v", size, kind, err)
		}
		if f, err := Decode(b[:HeaderBytes]); err != nil || f.Term != 5 {
			t.Errorf("%d bytes: %+v, %v", n, f, err)
		}
	}
}

// TestGap: a frame never wraps, and what precedes it is a pad or too short for one.
func TestGap(t *testing.T) {
	const ring = 4096
	for _, tc := range []struct{ at, size, want int }{
		{0, ring, 0}, {0, 64, 0}, {4096 - 64, 64, 0}, {4096 - 64, 72, 64}, {4096 - 56, 64, 56}, {4088, 64, 8}, {8, ring, ring - 8},
	} {
		if got := Gap(tc.at, ring, tc.size); got != tc.want {
			t.Errorf("at %d, %d bytes: gap %d, want %d", tc.at, tc.size, got, tc.want)
		}
	}
}

// TestEveryFlippedBitIsFound flips each bit of each kind of frame.
func TestEveryFlippedBitIsFound(t *testing.T) {
	for name, f := range frames {
		b := encode(f)
		for i := range len(b) * 8 {
			b[i/8] ^= 1 << (i % 8)
			if _, err := Decode(b); !errors.Is(err, ErrSum) && !errors.Is(err, ErrInvalid) {
				t.Errorf("%s, bit %d: %v", name, i, err)
			}
			b[i/8] ^= 1 << (i % 8)
		}
	}
}

// resum makes the sum of a changed frame right again, as a hostile peer does.
func resum(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[offSum:], sum(b, offSum))
	return b
}

// TestHostileFrames: each has the right sum.
func TestHostileFrames(t *testing.T) {
	at := func(name string, off int, with ...byte) []byte {
		b := encode(frames[name])
		copy(b[off:], with)
		return resum(b)
	}
	ones := []byte{255, 255, 255, 255, 255, 255, 255, 255}
	zeros := make([]byte, 8)
	pad := make([]byte, HeaderBytes)
	PutPad(pad, 1)
	pad[offCommitted] = 1
	for name, b := range map[string][]byte{
		"nothing":                     {},
		"zeros":                       make([]byte, 64),
		"ones":                        bytes.Repeat(ones, 8),
		"a byte short":                encode(frames["entries"])[:HeaderBytes+23],
		"a header and no payload":     encode(frames["entries"])[:HeaderBytes],
		"kind 0":                      at("beacon", offKind, 0),
		"kind 4":                      at("beacon", offKind, 4),
		"unknown flag":                at("entries", offFlags, 16),
		"a start that continues":      at("part", offFlags, byte(Continues|Start)),
		"a beacon with flags":         at("beacon", offFlags, byte(Ends)),
		"reserved":                    at("beacon", offReserved, 1),
		"reserved at the end":         at("beacon", offReserved2, 1),
		"term 0":                      at("beacon", offTerm, zeros...),
		"session 0":                   at("beacon", offSession, zeros...),
		"first revision 0":            at("entries", offFirst, zeros...),
		"revisions beyond all":        at("entries", offFirst, ones...),
		"no entries":                  at("entries", offEntries, zeros[:4]...),
		"a beacon with entries":       at("beacon", offEntries, 1),
		"a byte more in the fill":     at("entries", HeaderBytes+17, 1),
		"payload beyond the frame":    at("entries", offPayload, 25),
		"payload of 4 GiB":            at("entries", offPayload, ones[:4]...),
		"payload a unit shorter":      at("entries", offPayload, 16),
		"size of 4 GiB":               at("entries", 0, ones[:4]...),
		"size of 1 GiB":               at("entries", 0, 0, 0, 0, 0x40),
		"size not in units":           at("entries", 0, 89),
		"size less than a header":     at("entries", 0, 56),
		"size 0":                      at("entries", 0, 0),
		"a beacon with payload":       encode(Frame{Kind: Beacon, Term: 1, Session: 1, Payload: []byte{0}}),
		"a part without bytes":        encode(Frame{Kind: Entries, Term: 1, Session: 1, First: 1, Entries: 1}),
		"a pad with a committed one":  resum(pad),
		"a pad that is not that long": at("beacon", offKind, byte(Pad)),
	} {
		f, err := Decode(b)
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestHeadIsBounded: no size leads beyond what was announced.
func TestHeadIsBounded(t *testing.T) {
	b := encode(frames["entries"])
	for _, most := range []int{-1, 0, 8, HeaderBytes - 1, HeaderBytes, len(b) - 8} {
		if size, _, err := Head(b, most); !errors.Is(err, ErrInvalid) {
			t.Errorf("%d announced: %d bytes, %v", most, size, err)
		}
	}
	for n := range HeaderBytes {
		if _, _, err := Head(b[:n], len(b)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%d bytes of a header: %v", n, err)
		}
	}
}

// FuzzFrame: a decoder accepts only what an encoder writes.
func FuzzFrame(f *testing.F) {
	for _, x := range frames {
		f.Add(encode(x))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= HeaderBytes { // or the fuzzer gets no further than the sum
			if n := int(binary.LittleEndian.Uint32(b)); Kind(b[offKind]) == Pad {
				resum(b[:HeaderBytes])
			} else if n >= HeaderBytes && n <= len(b) {
				resum(b[:n])
			}
		}
		x, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrSum) {
				t.Errorf("untyped error %v", err)
			}
			return
		}
		if x.Kind == Pad {
			return
		}
		if again := encode(x); !bytes.Equal(again, b[:len(again)]) {
			t.Errorf("%x is decoded, and encoded as %x", b, again)
		}
		_, _ = Split(x.Payload, x.Entries)
	})
}
