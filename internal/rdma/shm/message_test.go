package shm

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

func TestGreetingRoundTrip(t *testing.T) {
	for _, g := range []greeting{
		{kind: kindHello, version: version, depth: 256},
		{kind: kindHello, version: version, depth: 1, private: []byte("hi")},
		{kind: kindAccept, version: version, depth: maxDepth, private: make([]byte, rdma.MaxPrivateData)},
		{kind: kindReject, version: version, reason: "busy"},
	} {
		got, err := decodeGreeting(g.encode())
		if err != nil || !reflect.DeepEqual(got, g) {
			t.Errorf("%+v came back as %+v, %v", g, got, err)
		}
	}
}

func TestGreetingOfAnotherVersion(t *testing.T) {
	g := greeting{kind: kindHello, version: 99, depth: 256}
	b := g.encode()[:12] // common to all versions
	got, err := decodeGreeting(b)
	if err != nil || got.version != 99 || got.kind != kindHello {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadGreetings(t *testing.T) {
	good := (&greeting{kind: kindHello, version: version, depth: 8, private: []byte("abc")}).encode()
	with := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for name, b := range map[string][]byte{
		"empty":           nil,
		"short":           good[:11],
		"cut":             good[:len(good)-1],
		"long":            append(bytes.Clone(good), 0),
		"magic":           with(4, 'X'),
		"kind":            with(0, kindWake),
		"no depth":        with(12, 0),
		"great depth":     with(13, 0xff),
		"private length":  with(14, 200),
		"no common part":  good[:14],
		"long reason":     (&greeting{kind: kindReject, version: version, reason: strings.Repeat("x", maxReason+1)}).encode(),
		"private too big": (&greeting{kind: kindHello, version: version, depth: 1, private: make([]byte, 57)}).encode(),
	} {
		if g, err := decodeGreeting(b); !errors.Is(err, errMessage) {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
}

var controls = []control{
	{kind: kindWake},
	{kind: kindAsk, key: 1<<63 | 5},
	{kind: kindRevoke, key: 7},
	{kind: kindAnswer, key: 7, status: rdma.StatusRemoteKey},
	{kind: kindAnswer, key: 7, status: rdma.StatusRemoteAccess},
	{kind: kindAnswer, key: 7, access: rdma.RemoteRead, slot: tableSlots - 1, size: maxRegionBytes, generation: 3},
}

func TestControlRoundTrip(t *testing.T) {
	var b [answerBytes]byte
	for _, c := range controls {
		got, err := decodeControl(c.encode(&b))
		if err != nil || got != c {
			t.Errorf("%+v came back as %+v, %v", c, got, err)
		}
	}
}

func TestBadControls(t *testing.T) {
	var b [answerBytes]byte
	for name, c := range map[string]control{
		"kind":         {kind: 200, key: 1},
		"greeting":     {kind: kindHello, key: 1},
		"status":       {kind: kindAnswer, status: rdma.StatusFlushed},
		"no access":    {kind: kindAnswer, size: 1},
		"slot":         {kind: kindAnswer, access: rdma.RemoteRead, size: 1, slot: tableSlots},
		"no size":      {kind: kindAnswer, access: rdma.RemoteRead},
		"a great size": {kind: kindAnswer, access: rdma.RemoteRead, size: maxRegionBytes + 1},
	} {
		if got, err := decodeControl(c.encode(&b)); !errors.Is(err, errMessage) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, b := range [][]byte{{}, {kindWake, 0}, {kindAsk}, make([]byte, answerBytes+1)} {
		if got, err := decodeControl(b); !errors.Is(err, errMessage) {
			t.Errorf("% x: %+v, %v", b, got, err)
		}
	}
}

// Whatever a decoder accepts has only valid values, and is unchanged after it
// is encoded and decoded again.
func FuzzDecode(f *testing.F) {
	var b [answerBytes]byte
	for _, c := range controls {
		f.Add(bytes.Clone(c.encode(&b)))
	}
	f.Add(append([]byte{kindEnd}, "enough"...))
	f.Add((&greeting{kind: kindHello, version: version, depth: 3, private: []byte("p")}).encode())
	f.Add((&greeting{kind: kindReject, version: version, reason: "no"}).encode())
	f.Fuzz(func(t *testing.T, in []byte) {
		if c, err := decodeControl(in); err == nil {
			var b [answerBytes]byte
			again, err := decodeControl(append(c.encode(&b), c.reason...))
			if err != nil || again != c {
				t.Errorf("%+v became %+v, %v", c, again, err)
			}
			if c.kind == kindAnswer && c.status == rdma.StatusOK && (c.slot >= tableSlots || c.size == 0) {
				t.Errorf("accepted %+v", c)
			}
		}
		if g, err := decodeGreeting(in); err == nil && g.version == version {
			again, err := decodeGreeting(g.encode())
			if err != nil || again.kind != g.kind || again.reason != g.reason || !bytes.Equal(again.private, g.private) {
				t.Errorf("%+v became %+v, %v", g, again, err)
			}
			if g.kind != kindReject && (g.depth == 0 || g.depth > maxDepth) {
				t.Errorf("accepted %+v", g)
			}
		}
	})
}
