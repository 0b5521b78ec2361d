package heartbeat

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBeatRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Beat{
			Sequence:       rapid.Uint64Min(1).Draw(t, "sequence"),
			Time:           time.Unix(0, rapid.Int64().Draw(t, "time")),
			Interval:       time.Duration(rapid.Uint32Min(1).Draw(t, "us")) * time.Microsecond,
			CPU:            float64(rapid.Float32Range(0, 1).Draw(t, "cpu")),
			Busy:           float64(rapid.Float32Range(0, 1).Draw(t, "busy")),
			Waiting:        rapid.Uint32().Draw(t, "waiting"),
			BytesPerSecond: rapid.Uint64().Draw(t, "rate"),
			Numbers:        [2]uint64{rapid.Uint64().Draw(t, "first"), rapid.Uint64().Draw(t, "second")},
		}
		var line [Bytes]byte
		want.Encode(line[:])
		if got, err := Decode(line[:]); err != nil || got != want {
			t.Fatalf("%+v became %+v, %v", want, got, err)
		}
		// Any single changed byte is detected, also in half a write.
		at := rapid.IntRange(8, Bytes-1).Draw(t, "at")
		line[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if _, err := Decode(line[:]); !errors.Is(err, ErrTorn) {
			t.Fatalf("byte %d changed: %v", at, err)
		}
	})
}

func TestBeatClamps(t *testing.T) {
	for in, want := range map[float64]float64{
		-1: 0, 2: 1, math.NaN(): 0, math.Inf(1): 1, 0.5: 0.5,
	} {
		var line [Bytes]byte
		b := Beat{Sequence: 1, CPU: in, Busy: in, Interval: 1 << 62}
		b.Encode(line[:])
		got, err := Decode(line[:])
		if err != nil || got.CPU != want || got.Busy != want ||
			got.Interval != math.MaxUint32*time.Microsecond {
			t.Errorf("%v became %+v, %v", in, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	change := func(f func(b []byte)) []byte {
		b := make([]byte, Bytes)
		(&Beat{Sequence: 1, Time: time.Unix(1, 0), Interval: time.Second}).Encode(b)
		f(b)
		binary.LittleEndian.PutUint32(b[offCRC:], crc32.Checksum(b[:offCRC], castagnoli))
		return b
	}
	nan := math.Float32bits(float32(math.NaN()))
	for name, tc := range map[string]struct {
		line []byte
		want error
	}{
		"empty":      {make([]byte, Bytes), ErrNone},
		"short":      {make([]byte, Bytes-1), ErrInvalid},
		"magic":      {change(func(b []byte) { b[offMagic+3] = '2' }), ErrInvalid},
		"cpu NaN":    {change(func(b []byte) { binary.LittleEndian.PutUint32(b[offCPU:], nan) }), ErrInvalid},
		"busy 2":     {change(func(b []byte) { binary.LittleEndian.PutUint32(b[offBusy:], math.Float32bits(2)) }), ErrInvalid},
		"interval 0": {change(func(b []byte) { clear(b[offInterval:offCPU]) }), ErrInvalid},
	} {
		if b, err := Decode(tc.line); !errors.Is(err, tc.want) {
			t.Errorf("%s: %+v, %v; want %v", name, b, err, tc.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	line := make([]byte, Bytes)
	(&Beat{Sequence: 1, Interval: time.Second}).Encode(line)
	f.Add(line)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		// A correct checksum, so that the fuzzer gets past the check.
		if len(b) >= Bytes {
			binary.LittleEndian.PutUint32(b[offCRC:], crc32.Checksum(b[:offCRC], castagnoli))
		}
		beat, err := Decode(b)
		if err == nil && !(beat.CPU >= 0 && beat.CPU <= 1 && beat.Busy >= 0 && beat.Busy <= 1 &&
			beat.Sequence > 0 && beat.Interval > 0) {
			t.Fatalf("accepted %+v", beat)
		}
	})
}

func TestMailboxReplacesUnread(t *testing.T) {
	page := make([]byte, 4096)
	m, err := NewMailbox(page)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Latest(); !errors.Is(err, ErrNone) {
		t.Fatalf("empty: %v", err)
	}
	if b, fresh := m.Take(); fresh {
		t.Fatalf("empty: took %+v", b)
	}
	for seq := uint64(1); seq <= 3; seq++ {
		(&Beat{Sequence: seq, Interval: time.Second}).Encode(page)
	}
	if b, fresh := m.Take(); !fresh || b.Sequence != 3 {
		t.Fatalf("took %+v, %v; want beat 3", b, fresh)
	}
	if b, fresh := m.Take(); fresh {
		t.Fatalf("took %+v twice", b)
	}
	if b, err := m.Latest(); err != nil || b.Sequence != 3 {
		t.Fatalf("latest %+v, %v; want beat 3", b, err)
	}
	page[20] ^= 1
	if _, err := m.Latest(); !errors.Is(err, ErrTorn) {
		t.Fatalf("torn: %v", err)
	}
	if _, err := NewMailbox(page[:63]); !errors.Is(err, ErrInvalid) {
		t.Fatalf("short page: %v", err)
	}
}

// TestEachBeatIsTakenOnce by one of many goroutines.
func TestEachBeatIsTakenOnce(t *testing.T) {
	page := make([]byte, 4096)
	(&Beat{Sequence: 9, Interval: time.Second}).Encode(page)
	m, err := NewMailbox(page)
	if err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int32
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if _, fresh := m.Take(); fresh {
				taken.Add(1)
			}
		})
	}
	group.Wait()
	if taken.Load() != 1 {
		t.Fatalf("taken %d times", taken.Load())
	}
}
