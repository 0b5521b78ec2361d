package lane

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

// payloadOf is the payload of a batch.
func payloadOf(entries ...string) (b []byte) {
	for _, e := range entries {
		b = AppendEntry(b, []byte(e))
	}
	return b
}

func TestEntries(t *testing.T) {
	want := []string{"a", "bb", string(make([]byte, 1000))}
	seq, err := Split(payloadOf(want...), uint32(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range seq {
		got = append(got, string(e))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for e := range seq {
		if string(e) != "a" {
			t.Errorf("got %q", e)
		}
		break
	}
}

func TestHostileEntries(t *testing.T) {
	good := payloadOf("a", "bb")
	for name, tc := range map[string]struct {
		b []byte
		n uint32
	}{
		"one more than there are": {good, 3},
		"4 G of them":             {good, math.MaxUint32},
		"one fewer":               {good, 1},
		"none":                    {good, 0},
		"cut in an entry":         {good[:len(good)-1], 2},
		"cut in a length":         {good[:6], 2},
		"an empty entry":          {payloadOf("a", ""), 2},
		"a length of 4 GiB":       {[]byte{255, 255, 255, 255, 1}, 1},
		"nothing":                 {nil, 1},
	} {
		if _, err := Split(tc.b, tc.n); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDividedBatch: whatever the size of its parts, a batch arrives whole.
func TestDividedBatch(t *testing.T) {
	payload := payloadOf("first", "second", "third")
	b := Batch{Most: len(payload)}
	for most := 1; most <= len(payload)+1; most++ {
		parts := 0
		for flags, part := range Divide(payload, most) {
			parts++
			got, done, err := b.Add(Frame{Kind: Entries, Flags: flags, Term: 1, Session: 2, First: 5, Entries: 3, Payload: part})
			if err != nil || done != (flags&Ends != 0) {
				t.Fatalf("parts of %d: %v, done %v with flags %d", most, err, done, flags)
			}
			if done && (!bytes.Equal(got.Payload, payload) || got.Session != 2 || got.Entries != 3) {
				t.Fatalf("parts of %d: other bytes", most)
			}
		}
		if want := (len(payload) + most - 1) / most; parts != want {
			t.Errorf("%d parts of %d bytes, want %d", parts, most, want)
		}
	}
	for range Divide(payload, 1) {
		break
	}
}

func TestHostileParts(t *testing.T) {
	part := func(flags Flags, mod func(*Frame)) Frame {
		f := Frame{Kind: Entries, Flags: flags, Term: 1, Session: 2, First: 5, Entries: 3, Payload: make([]byte, 60)}
		if mod != nil {
			mod(&f)
		}
		return f
	}
	for name, fs := range map[string][]Frame{
		"continues nothing":    {part(Continues, nil)},
		"ends nothing":         {part(Continues|Ends, nil)},
		"continues after ends": {part(Ends, nil), part(Continues, nil)},
		"two begin":            {part(0, nil), part(0, nil)},
		"another within":       {part(0, nil), part(Ends, nil)},
		"other term":           {part(0, nil), part(Continues, func(f *Frame) { f.Term++ })},
		"other revision":       {part(0, nil), part(Continues, func(f *Frame) { f.First++ })},
		"other session":        {part(0, nil), part(Continues, func(f *Frame) { f.Session++ })},
		"other number":         {part(0, nil), part(Continues|Ends, func(f *Frame) { f.Entries++ })},
		"too long at once":     {part(Ends, func(f *Frame) { f.Payload = make([]byte, 101) })},
		"too long together":    {part(0, nil), part(Continues, nil)},
	} {
		b := Batch{Most: 100}
		var err error
		for i, f := range fs {
			if _, _, err = b.Add(f); (err != nil) != (i == len(fs)-1) {
				t.Fatalf("%s: part %d: %v", name, i, err)
			}
		}
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzSplit: entries that are accepted make up the payload, and nothing else.
func FuzzSplit(f *testing.F) {
	f.Add(payloadOf("a", "bb"), uint32(2))
	f.Add([]byte{255, 255, 255, 255}, uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, n uint32) {
		seq, err := Split(b, n)
		if err != nil {
			return
		}
		var again []byte
		count := uint32(0)
		for e := range seq {
			again = AppendEntry(again, e)
			count++
		}
		if count != n || !bytes.Equal(again, b) {
			t.Error(fmt.Errorf("%d entries of %d, %x of %x", count, n, again, b))
		}
	})
}
