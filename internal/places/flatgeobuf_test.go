package places

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/places/input"
)

func readFile(t testing.TB, path string, opts Options) []string {
	t.Helper()
	opts.Strict = true
	r, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []string
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, show(t, p))
	}
	return all
}

// Files that GDAL converted hold the same as their GeoJSON.
func TestFlatGeobuf(t *testing.T) {
	got := readFile(t, "testdata/mixed.fgb", Options{})
	want := readFile(t, "testdata/mixed.geojsonl", Options{})
	for i := range want { // GDAL reads an object as text
		want[i] = strings.Replace(want[i], `{"a":[1,2]}`, `"{ \"a\": [ 1, 2 ] }"`, 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// This file has a tree, whose order its features follow.
	got = readFile(t, "testdata/countries.fgb", Options{ID: "id"})
	want = readFile(t, "../../datasets/testdata/countries.geojson", Options{ID: "id"})
	slices.Sort(got)
	slices.Sort(want)
	for i := range want {
		if i >= len(got) || !sameCountry(got[i], want[i]) {
			t.Fatalf("%d of %d:\n%s\nwant\n%s", i, len(got), got[i], want[i])
		}
	}
}

// sameCountry compares all but the type: GDAL makes all geometries multipolygons.
func sameCountry(a, b string) bool {
	plain := strings.NewReplacer("MultiPolygon", "Polygon", "[", "", "]", "")
	return plain.Replace(a) == plain.Replace(b)
}

func TestBadFlatGeobuf(t *testing.T) {
	data, err := os.ReadFile("testdata/mixed.fgb")
	if err != nil {
		t.Fatal(err)
	}
	header := int(binary.LittleEndian.Uint32(data[8:]))
	first := 12 + header
	for _, c := range []struct {
		name        string
		change      func(b []byte) []byte
		places, bad int
		kind        error
	}{
		{"no header", func(b []byte) []byte { return b[:8] }, 0, 0, input.ErrTruncated},
		{"cut header", func(b []byte) []byte { return b[:20] }, 0, 0, input.ErrTruncated},
		{"huge header", func(b []byte) []byte { b[11] = 255; return b }, 0, 0, input.ErrTooLarge},
		{"cut feature", func(b []byte) []byte { return b[:first+20] }, 0, 0, input.ErrTruncated},
		{"cut size", func(b []byte) []byte { return b[:first+2] }, 0, 0, input.ErrTruncated},
		{"no features", func(b []byte) []byte { return b[:first] }, 0, 0, nil},
		{"huge feature", func(b []byte) []byte { b[first+3] = 255; return b }, 0, 0, input.ErrTooLarge},
		{"root beyond", func(b []byte) []byte { b[first+5] = 255; return b }, 6, 1, nil},
		{"empty object", func(b []byte) []byte { return append(b, 0, 0, 0, 0) }, 7, 1, nil},
	} {
		text := string(c.change(slices.Clone(data)))
		r, err := NewReader(strings.NewReader(text), "x", Options{})
		n := 0
		for ; err == nil; n++ {
			if _, err = r.Next(); err != nil {
				break
			}
		}
		bad := 0
		if r != nil {
			bad = int(r.Stats().Bad)
		}
		if n != c.places || bad != c.bad || !errors.Is(err, c.kind) && c.kind != nil {
			t.Errorf("%s: %d places, %d bad, %v", c.name, n, bad, err)
		}
	}
}

// A tree of n features has a node for each, and levels up to one node.
func TestTreeNodes(t *testing.T) {
	for _, c := range []struct{ count, size, want uint64 }{
		{0, 16, 0}, {1, 16, 2}, {16, 16, 17}, {17, 16, 20}, {5, 2, 5 + 3 + 2 + 1}, {9, 0, 0},
	} {
		// A table at 24 with its vtable at 0; fields 8 and 9 at 4 and 12 of it.
		b := make([]byte, 48)
		binary.LittleEndian.PutUint16(b, 24)
		binary.LittleEndian.PutUint16(b[2:], 14)
		binary.LittleEndian.PutUint16(b[4+2*8:], 4)
		binary.LittleEndian.PutUint16(b[4+2*9:], 12)
		binary.LittleEndian.PutUint32(b[24:], 24)
		binary.LittleEndian.PutUint64(b[28:], c.count)
		binary.LittleEndian.PutUint16(b[36:], uint16(c.size))
		f := &flat{b: b}
		got, err := f.treeNodes(f.tableAt(24))
		if err != nil || got != c.want {
			t.Errorf("%d features of node size %d: %d nodes, %v; want %d", c.count, c.size, got, err, c.want)
		}
	}
}

// A value of each type, and a number that JSON cannot represent.
func TestFGBValues(t *testing.T) {
	text := func(s string) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
	}
	for _, c := range []struct {
		kind        int
		value, want string
	}{
		{fgbByte, "\xff", "-1"}, {fgbUByte, "\xff", "255"}, {fgbBool, "\x01", "true"}, {fgbBool, "\x00", "false"},
		{fgbShort, "\xfe\xff", "-2"}, {fgbUShort, "\xfe\xff", "65534"},
		{fgbInt, "\xfe\xff\xff\xff", "-2"}, {fgbUInt, "\xfe\xff\xff\xff", "4294967294"},
		{fgbLong, "\xfe\xff\xff\xff\xff\xff\xff\xff", "-2"},
		{fgbULong, "\xfe\xff\xff\xff\xff\xff\xff\xff", "18446744073709551614"},
		{fgbFloat, "\x00\x00\xc0\x3f", "1.5"}, {fgbFloat, "\x00\x00\x80\x7f", ""},
		{fgbDouble, "\x00\x00\x00\x00\x00\x00\xf8\x3f", "1.5"},
		{fgbDouble, "\x00\x00\x00\x00\x00\x00\xf8\x7f", ""},
		{fgbString, text("a\"\xff"), "\"a\\\"\ufffd\""}, {fgbDateTime, text("2024-01-01"), `"2024-01-01"`},
		{fgbJSON, text("{ \"a\": 1}"), `{"a":1}`}, {fgbJSON, text("{"), ""}, {fgbBinary, text("\x00\xff"), `"AP8="`},
	} {
		columns := []fgbColumn{
			{[]byte(`"first":`), fgbBool, new(bool)}, {[]byte(`"x":`), c.kind, new(bool)},
		}
		s, f := &fgbSource{}, &flat{}
		got := string(s.properties(f, []byte("\x01\x00"+c.value+"\x00\x00\x01"), columns))
		want := `{"x":` + c.want + `,"first":true}`
		if c.want == "" {
			want = `{"first":true}`
		}
		if f.err != nil || got != want {
			t.Errorf("type %d: %s, %v; want %s", c.kind, got, f.err, want)
		}
		for name, values := range map[string]string{
			"twice": "\x01\x00" + c.value + "\x01\x00" + c.value, "cut": "\x01\x00" + c.value[:len(c.value)-1],
			"unknown": "\x02\x00" + c.value, "half": "\x01",
		} {
			f := &flat{}
			if s.properties(f, []byte(values), columns); f.err == nil {
				t.Errorf("type %d, %s: no error", c.kind, name)
			}
		}
	}
}

// Parts that share bytes cannot expand to more than the size of the object.
func TestSharedPartsAreBounded(t *testing.T) {
	f := &flat{b: make([]byte, 100)}
	f.spend(60)
	if f.spend(40); f.err != nil {
		t.Fatal(f.err)
	}
	if f.spend(1); !errors.Is(f.err, input.ErrSyntax) {
		t.Error(f.err)
	}
}
