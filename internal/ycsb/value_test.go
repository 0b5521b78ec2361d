package ycsb

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strconv"
	"testing"
)

func TestValues(t *testing.T) {
	a, b := hashedKey(1), hashedKey(2)
	for _, size := range []int{1, 2, 8, 27, 28, 29, 32, 33, 63, 64, 100, 1024} {
		v := Value(a, 77, size)
		if len(v) != size {
			t.Fatalf("%d bytes, want %d", len(v), size)
		}
		want := uint64(77)
		if size < HeaderBytes {
			want = 0
		}
		if seq, err := CheckValue(a, v); err != nil || seq != want {
			t.Fatalf("%d bytes: seq %d, %v", size, seq, err)
		}
		if _, err := CheckValue(b, v); !errors.Is(err, ErrValue) {
			t.Errorf("%d bytes fit another key: %v", size, err)
		}
		for i := range v {
			v[i] ^= 0x10
			if _, err := CheckValue(a, v); !errors.Is(err, ErrValue) {
				t.Errorf("%d bytes, byte %d differs: %v", size, i, err)
			}
			v[i] ^= 0x10
		}
		if size <= HeaderBytes {
			continue
		}
		for _, part := range [][]byte{v[:size-1], append(bytes.Clone(v), 0)} {
			if _, err := CheckValue(a, part); !errors.Is(err, ErrValue) {
				t.Errorf("%d of %d bytes: %v", len(part), size, err)
			}
		}
		// Torn at any byte: the front of one state, the rest of another.
		other := Value(a, 78, size)
		for at := 1; at < size; at++ {
			torn := append(bytes.Clone(v[:at]), other[at:]...)
			if bytes.Equal(torn, v) || bytes.Equal(torn, other) {
				continue // the bytes that differ in place are the same by chance
			}
			if _, err := CheckValue(a, torn); !errors.Is(err, ErrValue) {
				t.Errorf("%d bytes torn at %d: %v", size, at, err)
			}
		}
	}
	// Consistent, but of another key: only the key differs.
	if _, err := CheckValue(b, Value(a, 1, 64)); !errors.Is(err, ErrValue) {
		t.Error(err)
	}
}

// The layout, byte by byte.
func TestValueLayout(t *testing.T) {
	k := digits(0x0123456789abcdef)
	v := AppendValue([]byte("before"), k, 0x1122334455667788, 40)
	if string(v[:6]) != "before" {
		t.Fatal(v)
	}
	v = v[6:]
	if binary.LittleEndian.Uint32(v) != crc32.Checksum(v[4:], crc32.MakeTable(crc32.Castagnoli)) ||
		binary.LittleEndian.Uint64(v[4:]) != 0x1122334455667788 || string(v[12:28]) != "0123456789abcdef" {
		t.Errorf("%x", v)
	}
	// The filler, and values too short for it, must not change either.
	for got, want := range map[string]string{
		hex.EncodeToString(v[28:]):               "b3b4ba4cb9a2e223c83005cc",
		hex.EncodeToString(Value(k, 1, 27)[:12]): "652ac15ce0f7ab4b7aa60bdc",
	} {
		if got != want {
			t.Errorf("filler %s, want %s", got, want)
		}
	}
}

func FuzzCheckValue(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(Value(hashedKey(1), 2, 32))
	f.Add(Value(hashedKey(1), 2, 5))
	f.Fuzz(func(t *testing.T, v []byte) {
		k := hashedKey(1)
		seq, err := CheckValue(k, v)
		if err == nil && len(v) < HeaderBytes && !bytes.Equal(v, Value(k, seq, len(v))) {
			t.Errorf("%x was taken", v)
		}
	})
}

func BenchmarkValue(b *testing.B) {
	for _, size := range []int{32, 1024} {
		k := hashedKey(1)
		v := Value(k, 1, size)
		b.Run("op=append size="+strconv.Itoa(size), func(b *testing.B) {
			for b.Loop() {
				v = AppendValue(v[:0], k, 1, size)
			}
		})
		b.Run("op=check size="+strconv.Itoa(size), func(b *testing.B) {
			for b.Loop() {
				if _, err := CheckValue(k, v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
