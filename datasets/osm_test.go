package datasets

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/catfish-index/catfish/rstar"
)

// message encodes pairs of a field number and its value: text or bytes
// as a string, a varint as an int or uint64.
func message(pairs ...any) string {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		number := protowire.Number(pairs[i].(int))
		switch v := pairs[i+1].(type) {
		case string:
			b = protowire.AppendTag(b, number, protowire.BytesType)
			b = protowire.AppendString(b, v)
		case int:
			b = protowire.AppendTag(b, number, protowire.VarintType)
			b = protowire.AppendVarint(b, uint64(v))
		case uint64:
			b = protowire.AppendTag(b, number, protowire.VarintType)
			b = protowire.AppendVarint(b, v)
		}
	}
	return string(b)
}

func zigzag(v int64) uint64 { return protowire.EncodeZigZag(v) }

// packed encodes deltas as a packed sint64 field.
func packed(deltas ...int64) string {
	var b []byte
	for _, d := range deltas {
		b = protowire.AppendVarint(b, zigzag(d))
	}
	return string(b)
}

func frame(kind, data string) string { return blobFrame(kind, message(1, data)) }

func blobFrame(kind, blob string) string {
	header := message(1, kind, 3, len(blob))
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(header)))) + header + blob
}

func readPBF(t *testing.T, data string, mode OSMMode, highways bool) ([]rstar.Item, *Source, error) {
	t.Helper()
	s := &Source{name: "test", count: Unknown}
	s.pass = func(p *pass) error { return readOSM(p, strings.NewReader(data), mode, highways) }
	items, err := Collect(s)
	return items, s, err
}

// Plain and dense nodes, deltas, granularity and tags, by hand.
func TestOSMModes(t *testing.T) {
	data := string(smallPBF())
	for _, c := range []struct {
		mode OSMMode
		want []rstar.Item
	}{
		{WaySegments, []rstar.Item{
			{Rect: rect(1.4, 42.4, 1.45, 42.45)},
			{Rect: rect(1.45, 42.45, 1.5, 42.5), ID: 1},
			{Rect: rect(1.5, 42.5, 1.5001, 42.5001), ID: 2},
		}},
		{WayBoxes, []rstar.Item{{Rect: rect(1.4, 42.4, 1.5001, 42.5001), ID: 77}}},
		{TaggedNodes, []rstar.Item{{Rect: rect(1.5001, 42.5001, 1.5001, 42.5001), ID: 40}}},
	} {
		got, _, err := readPBF(t, data, c.mode, true)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, %v; want %v", c.mode, got, err, c.want)
		}
	}
}

// A block of one node group; the table has two strings.
func osmData(group string, extra ...any) string {
	return frame("OSMData", message(append([]any{1, message(1, "", 1, "highway"), 2, group}, extra...)...))
}

func TestOSMDetails(t *testing.T) {
	const header = "OSMHeader"
	node := func(id, lat, lon int64) string {
		return message(1, message(1, zigzag(id), 8, zigzag(lat), 9, zigzag(lon)))
	}
	way := func(id int, refs ...int64) string { return message(3, message(1, id, 8, packed(refs...))) }
	pack := func(data string, rawSize int) string {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		if _, err := z.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return blobFrame("OSMData", message(2, rawSize, 3, b.String()))
	}
	nodes := node(9, 0, 0) + node(5, 10_000_000, 20_000_000) // ids decrease
	minus := uint64(1<<64 - 1)
	for _, c := range []struct {
		name    string
		body    string
		mode    OSMMode
		items   int
		skipped int64
		kind    error
		says    string
	}{
		{"unsorted nodes", osmData(nodes + way(1, 5, 4)), WaySegments, 1, 0, nil, ""},
		{"missing nodes", osmData(nodes + way(1, 5, 1, 3, -4)), WaySegments, 1, 2, nil, ""},
		{"box of what is there", osmData(nodes + way(1, 5, 1) + way(2, 7)), WayBoxes, 1, 1, nil, ""},
		{"way without nodes", osmData(way(1)), WaySegments, 0, 0, nil, ""},
		{"granularity", osmData(node(1, 42, 1), 17, 1_000_000_000), WaySegments, 0, 0, nil, ""},
		{"packed", pack(message(2, nodes+way(1, 5, 4)), len(message(2, nodes+way(1, 5, 4)))), WaySegments, 1, 0, nil, ""},

		{"tagged node", osmData(message(1, message(1, zigzag(3), 2, "\x01", 3, "\x00", 8, zigzag(0), 9, zigzag(0)))), TaggedNodes, 1, 0, nil, ""},

		{"key without a value", osmData(message(1, message(1, zigzag(3), 2, "\x01"))), TaggedNodes, 0, 0, ErrSyntax, "node 3: a tag's value"},
		{"value without a key", osmData(message(3, message(1, 7, 3, "\x01"))), WayBoxes, 0, 0, ErrSyntax, "way 7: malformed: more values"},
		{"relation", osmData(message(4, message(1, 7, 8, "\x01", 9, packed(5), 10, "\x01"))), WayBoxes, 0, 0, nil, ""},
		{"member's kind", osmData(message(4, message(1, 7, 8, "\x01", 9, packed(5), 10, "\x03"))), WayBoxes, 0, 0, ErrSyntax, "member 5 of kind 3"},
		{"member's role", osmData(message(4, message(1, 7, 8, "\x02", 9, packed(5), 10, "\x01"))), WayBoxes, 0, 0, ErrSyntax, "string 2, the table has 2"},
		{"member without a role", osmData(message(4, message(1, 7, 9, packed(5), 10, "\x01"))), WayBoxes, 0, 0, ErrSyntax, "role of member 5"},
		{"role without a member", osmData(message(4, message(1, 7, 8, "\x01"))), WayBoxes, 0, 0, ErrSyntax, "fewer members"},
		{"node's tag", osmData(message(1, message(1, zigzag(3), 2, "\x05"))), TaggedNodes, 0, 0, ErrSyntax, "string 5"},
		{"node's type", osmData(message(1, message(8, "north"))), TaggedNodes, 0, 0, ErrSyntax, "field 8 has protobuf wire type 2"},
		{"table's type", frame("OSMData", message(1, message(1, 5))), WaySegments, 0, 0, ErrSyntax, "wire type"},
		{"node after way", osmData(nodes + way(1, 5, 4) + node(7, 0, 0)), WaySegments, 1, 0, ErrUnsupported, "node 7 after a way"},
		{"off the globe", osmData(node(1, 900_000_001, 0)), WaySegments, 0, 0, ErrSyntax, "node 1"},
		{"overflow", osmData(node(1, 1<<62, 0), 17, 1<<30), WaySegments, 0, 0, ErrSyntax, "node 1"},
		{"offset overflow", osmData(node(1, 0, 0), 19, uint64(1<<63)), WaySegments, 0, 0, ErrSyntax, "node 1"},
		{"negative id", osmData(nodes + message(3, message(1, minus, 8, packed(5)))), WayBoxes, 0, 0, ErrUnsupported, "-1"},
		{"no such string", osmData(message(3, message(1, 1, 2, "\x09"))), WaySegments, 0, 0, ErrSyntax, "string 9, the table has 2"},
		{"no such tag", osmData(message(2, message(1, packed(1), 8, packed(0), 9, packed(0), 10, "\x01\x07\x00"))),
			TaggedNodes, 0, 0, ErrSyntax, "string 7"},
		{"tags end early", osmData(message(2, message(1, packed(1), 8, packed(0), 9, packed(0), 10, "\x01"))),
			TaggedNodes, 0, 0, ErrSyntax, "tags of node 1"},
		{"fewer places", osmData(message(2, message(1, packed(1, 1), 8, packed(0), 9, packed(0, 0)))),
			TaggedNodes, 0, 0, ErrSyntax, "dense nodes after id"},
		{"more places", osmData(message(2, message(1, packed(1), 8, packed(0, 0), 9, packed(0)))),
			TaggedNodes, 0, 0, ErrSyntax, "fewer ids"},
		{"wire type", osmData(message(3, message(1, "text"))), WaySegments, 0, 0, ErrSyntax, "wire type 2, want 0"},
		{"group type", osmData(message(2, 5)), WaySegments, 0, 0, ErrSyntax, "wire type"},
		{"cut message", frame("OSMData", "\x0a\x7f"), WaySegments, 0, 0, ErrSyntax, "protobuf"},
		{"negative size", "\x00\x00\x00\x0b" + message(3, minus) + "\x00\x00", WaySegments, 0, 0, ErrSyntax, "-1 bytes"},
		{"too much packed", pack(strings.Repeat("\x00", 1000), 999), WaySegments, 0, 0, ErrSyntax, "want 999"},
		{"too little packed", pack("\x00", 999), WaySegments, 0, 0, ErrSyntax, "unpacks to 1 bytes"},
		{"bomb", pack("", 1<<30), WaySegments, 0, 0, ErrSyntax, "1073741824"},
		{"no zlib", blobFrame("OSMData", message(2, 1, 3, "x")), WaySegments, 0, 0, ErrSyntax, "zlib"},
		{"lz4", blobFrame("OSMData", message(6, "x")), WaySegments, 0, 0, ErrUnsupported, "lz4"},
		{"nothing", blobFrame("OSMData", ""), WaySegments, 0, 0, ErrSyntax, "without data"},
		{"index", frame("OSMIndex", ""), WaySegments, 0, 0, ErrSyntax, "OSMIndex"},
	} {
		t.Run(c.name, func(t *testing.T) {
			items, s, err := readPBF(t, frame(header, "")+c.body, c.mode, false)
			if len(items) != c.items || s.Skipped() != c.skipped {
				t.Errorf("%v, %d skipped; want %d, %d", items, s.Skipped(), c.items, c.skipped)
			}
			if !errors.Is(err, c.kind) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v, %q", err, c.kind, c.says)
			}
		})
	}
	_, _, err := readPBF(t, frame(header, message(4, "HistoricalInformation")), WaySegments, false)
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "HistoricalInformation") {
		t.Errorf("unknown feature: %v", err)
	}
	if _, err := ParseOSMMode("relations"); !errors.Is(err, ErrOption) {
		t.Errorf("unknown mode: %v", err)
	}
}
