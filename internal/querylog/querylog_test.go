package querylog

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

var began = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

func samples() []Record {
	box := rstar.Rect{MinX: -1.5, MinY: 0, MaxX: 1e300, MaxY: math.SmallestNonzeroFloat64}
	point := rstar.Rect{MinX: 3, MinY: -4, MaxX: 3, MaxY: -4}
	return []Record{
		{Kind: Collection, Name: "default"},
		{Kind: Collection, Collection: 7, Name: strings.Repeat("n", MaxName)},
		{Kind: Search, Via: ViaSHM, Offset: 1, Client: 1, Limit: 5, Found: 3, Rect: box},
		{Kind: Count, Via: ViaTCP, Offset: 2, Client: math.MaxUint32, Found: NotKnown, Rect: box},
		{Kind: Nearest, Via: ViaGRPC, Offset: 2, Limit: 9, Found: 9, X: 3, Y: -4, Within: math.Inf(1), Rect: point},
		{Kind: Insert, Via: ViaSoft, Offset: 3, Rect: box, ID: math.MaxUint64},
		{Kind: Dropped, Offset: 4, Lost: 1 << 40},
		{Kind: Delete, Via: ViaOFI, Offset: 5, Collection: 7, Found: 1, Rect: box, ID: 1},
		{Kind: Update, Offset: time.Hour, Rect: box, To: point, ID: 2},
	}
}

func encode(records []Record) []byte {
	b := AppendHeader(nil, began)
	for i := range records {
		n := len(b)
		b = records[i].Append(b)
		Seal(b[n:])
	}
	return b
}

func readAll(b []byte) (all []Record, err error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for {
		rec, err := r.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return all, err
		}
		all = append(all, rec)
	}
}

func TestRoundTrip(t *testing.T) {
	want := samples()
	b := encode(want)
	got, err := readAll(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v, want %+v", got, err, want)
	}
	if line, _, _ := bytes.Cut(b, []byte("\n")); string(line) != "catfish-querylog 1 2026-11-21T12:00:00.123456789Z" {
		t.Errorf("header %q", line)
	}
	r, err := NewReader(bytes.NewReader(b))
	if err != nil || !r.Start().Equal(began) {
		t.Errorf("start %v, %v", r.Start(), err)
	}
}

// Sizes are part of the format: doc.go lists them.
func TestSizes(t *testing.T) {
	want := map[Kind]int{Search: 64, Count: 64, Nearest: 56, Insert: 72, Delete: 72, Update: 104, Dropped: 40}
	for _, r := range samples() {
		if n, ok := want[r.Kind]; ok && len(r.Append(nil)) != n {
			t.Errorf("%v has %d bytes, want %d", r.Kind, len(r.Append(nil)), n)
		}
	}
}

// Cut anywhere, all whole records before the cut are read, and the cut is
// distinguished from a clean end.
func TestTorn(t *testing.T) {
	records := samples()
	b := encode(records)
	ends := map[int]int{} // offset to number of records
	at := len(AppendHeader(nil, began))
	ends[at] = 0
	for i := range records {
		at += len(records[i].Append(nil))
		ends[at] = i + 1
	}
	whole := 0
	for cut := len(AppendHeader(nil, began)); cut <= len(b); cut++ {
		n, clean := ends[cut]
		if clean {
			whole = n
		}
		for _, zeros := range []int{0, 3, 1000} {
			got, err := readAll(append(bytes.Clone(b[:cut]), make([]byte, zeros)...))
			if len(got) < whole || clean && zeros == 0 && err != nil {
				t.Fatalf("cut at %d: %d records, want %d; %v", cut, len(got), whole, err)
			}
			if zeros == 0 && !clean && !errors.Is(err, ErrTorn) {
				t.Fatalf("cut at %d: %v, want ErrTorn", cut, err)
			}
			if zeros > 1 && clean && !errors.Is(err, ErrTorn) {
				t.Fatalf("cut at %d and %d zeros: %v, want ErrTorn", cut, zeros, err)
			}
		}
	}
}

// Whichever bit flips, the record that contains it is not delivered.
func TestDamage(t *testing.T) {
	records := samples()
	b := encode(records)
	from := len(AppendHeader(nil, began))
	for i := from; i < len(b); i++ {
		for bit := range 8 {
			bad := bytes.Clone(b)
			bad[i] ^= 1 << bit
			got, err := readAll(bad)
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrTorn) {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
			if !reflect.DeepEqual(got, append([]Record(nil), records[:len(got)]...)) {
				t.Fatalf("bit %d of byte %d: read %+v", bit, i, got)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	for text, want := range map[string]error{
		"":                               ErrNotALog,
		"id,minx\n":                      ErrNotALog,
		"catfish-querylog":               ErrNotALog,
		"catfish-querylog 1 ":            ErrNotALog,
		"catfish-querylog 1 yesterday\n": ErrNotALog,
		"catfish-querylog 2 2026-11-21T12:00:00Z\n":         ErrVersion,
		"catfish-querylog 10 other things\n":                ErrVersion,
		"catfish-querylog 1 2026-11-21T12:00:00Z":           ErrNotALog,
		"catfish-querylog 1 2026-11-21T12:00:00Z\n":         nil,
		"catfish-querylog 1 2026-11-21T12:00:00Z\n\x40":     ErrTorn,
		"catfish-querylog 1 2026-11-21T12:00:00Z\n\x41\x00": ErrDamaged,
	} {
		if got, err := readAll([]byte(text)); !errors.Is(err, want) || len(got) > 0 {
			t.Errorf("%q: %d records, %v, want %v", text, len(got), err, want)
		}
	}
}

// FuzzReader: no input panics, errors are of a kind, what is delivered is
// valid and unchanged when it is written and read again.
func FuzzReader(f *testing.F) {
	f.Add(encode(samples()))
	f.Add(encode(nil))
	f.Add(encode(samples())[:200])
	f.Add([]byte("catfish-querylog 2 x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readAll(b)
		known := err == nil
		for _, kind := range []error{ErrNotALog, ErrVersion, ErrTorn, ErrDamaged} {
			known = known || errors.Is(err, kind)
		}
		if !known {
			t.Fatalf("an error of no kind: %v", err)
		}
		for _, r := range got {
			if r.Rect.Validate() != nil || r.To.Validate() != nil {
				t.Fatalf("delivered %+v", r)
			}
		}
		again, err := readAll(encode(got))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v became %+v, %v", got, again, err)
		}
	})
}
