package mover

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
)

// States are what was sent, and bytes that are none are refused.
func FuzzStates(f *testing.F) {
	sent := []store.MovedState{
		{Collection: "places", ID: []byte("a"), Value: []byte("value"), Expiry: time.Hour},
		{Collection: "records", Records: true, ID: []byte("b")},
	}
	f.Add(appendStates(nil, sent), 2)
	f.Add([]byte{}, 0)
	f.Add(binary.AppendUvarint(nil, 1<<63), 1)
	f.Add([]byte{1, 'c', 2, 0, 0, 0}, 1)
	f.Add([]byte{1, 'c', 3, 0, 0, 0}, 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		states, err := getStates(b, n)
		if err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Error(err)
			}
			return
		}
		if n = max(n, 0); len(states) != n {
			t.Fatalf("%d states, want %d", len(states), n)
		}
		again, err := getStates(appendStates(nil, states), n)
		if err != nil || !bytes.Equal(appendStates(nil, again), appendStates(nil, states)) {
			t.Errorf("%+v is another one when it is sent again: %+v, %v", states, again, err)
		}
	})
}

// piped calls two functions with the ends of a stream.
func piped(t *testing.T, there func(c net.Conn), here func(c net.Conn, r *bufio.Reader)) {
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		there(b)
		_ = b.Close()
	}()
	here(a, bufio.NewReaderSize(a, lineBytes))
	_ = a.Close()
	<-done
}

// What a hostile source says of its answer allocates nothing, and is bounded.
func TestHostileAnswers(t *testing.T) {
	for _, a := range []answer{{Bytes: -1}, {Bytes: statesBytes + 1}, {States: 1}, {States: -1, Bytes: 1}, {Bytes: 3, States: 4}} {
		if _, err := readStates(nil, nil, &a); !errors.Is(err, ErrProtocol) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	var was, is runtime.MemStats
	runtime.ReadMemStats(&was)
	piped(t, func(c net.Conn) { _, _ = c.Write([]byte("short")) }, func(c net.Conn, r *bufio.Reader) {
		if _, err := readStates(c, r, &answer{Bytes: statesBytes, States: 1}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
	if runtime.ReadMemStats(&is); is.TotalAlloc-was.TotalAlloc > 8*pieceBytes {
		t.Errorf("%d bytes for an answer of 5, which says that it is of %d", is.TotalAlloc-was.TotalAlloc, statesBytes)
	}
	piped(t, func(c net.Conn) { _ = writeLine(c, answer{Error: strings.Repeat("e", lineBytes)}, nil) }, func(c net.Conn, r *bufio.Reader) {
		if err := readLine(c, r, answerTime, new(answer)); !errors.Is(err, ErrProtocol) {
			t.Errorf("a long line: %v", err)
		}
	})
	piped(t, func(c net.Conn) { _, _ = c.Write([]byte("{]\n")) }, func(c net.Conn, r *bufio.Reader) {
		if err := readLine(c, r, answerTime, new(answer)); !errors.Is(err, ErrProtocol) {
			t.Errorf("a line that is no JSON: %v", err)
		}
	})
}

// A request with the longest key is a line.
func TestLongestKey(t *testing.T) {
	set := parts{}
	for i := range uint16(placement.MaxMoves) {
		set[placement.Part{Slot: i}] = true
		set[placement.Part{Collection: strings.Repeat("c", names.MaxBytes), Start: math.MaxUint64 - uint64(i)}] = true
	}
	q := request{Slots: slotBytes(set), Ranges: set.ranges(), Scan: &store.SlotCursor{Revision: 1<<64 - 1, Collection: 1<<32 - 1, After: bytes.Repeat([]byte{255}, record.MaxKeyBytes)}}
	piped(t, func(c net.Conn) {
		if err := writeLine(c, q, nil); err != nil {
			t.Error(err)
		}
	}, func(c net.Conn, r *bufio.Reader) {
		var got request
		if err := readLine(c, r, answerTime, &got); err != nil || len(got.Scan.After) != record.MaxKeyBytes {
			t.Error(err)
		}
	})
}

// say sends lines to a process as another group, and returns the last answer.
func (w *world) say(of *process, lines ...any) (a answer, err error) {
	c, there := net.Pipe()
	defer c.Close()
	of.l.in <- there
	r := bufio.NewReaderSize(c, answerBytes)
	for _, l := range lines {
		if raw, ok := l.(string); ok {
			if _, err := c.Write([]byte(raw)); err != nil {
				return a, err
			}
		} else if err := writeLine(c, l, nil); err != nil {
			return a, err
		}
		a = answer{}
		if err := readLine(c, r, answerTime, &a); err != nil {
			return a, err
		}
	}
	return a, nil
}

// A source answers nothing but slots that move to the group that asks, and bounds streams.
func TestHostileRequests(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.groups[0].is.Load()
		b := hello{Group: "b", Key: "the key of b"}
		all := parts{}
		for slot := range uint16(placement.Slots) {
			all[placement.Part{Slot: slot}] = true
		}
		roads := []placement.Part{{Collection: "roads", Start: 1}}
		for what, lines := range map[string][]any{
			"slots that do not move":    {b, request{Slots: slotBytes(all), Log: 1}},
			"a scan of nothing":         {b, request{Scan: &store.SlotCursor{}}},
			"a range that is not there": {b, request{Ranges: roads, Log: 1}},
			"a range of nothing":        {b, request{Ranges: []placement.Part{{Slot: 1}}, Log: 1}},
			"too few bytes of slots":    {b, request{Slots: []byte{1}, Log: 1}},
			"a wrong key":               {hello{Group: "b", Key: "the key of c"}},
			"a group that is not there": {hello{Group: "c"}},
		} {
			if got, err := w.say(a, lines...); err == nil && got.Error == "" {
				w.t.Errorf("%s: %+v", what, got)
			}
		}
		for what, line := range map[string]string{"no JSON": "GET / HTTP/1.1\r\n", "a long line": strings.Repeat("x", lineBytes+1)} {
			if got, err := w.say(a, line); err == nil {
				w.t.Errorf("%s: %+v", what, got)
			}
		}
		synctest.Wait() // The streams of before have ended.
		var silent []net.Conn
		for range maxStreams {
			c, there := net.Pipe()
			a.l.in <- there
			silent = append(silent, c)
		}
		synctest.Wait()
		if got, err := w.say(a, b); err == nil {
			w.t.Errorf("one stream more than %d: %+v", maxStreams, got)
		}
		time.Sleep(answerTime + time.Second) // Those that say nothing are closed.
		if got, err := w.say(a, b); err != nil || got.Error != "" {
			w.t.Errorf("when silent streams were closed: %+v, %v", got, err)
		}
		for _, c := range silent {
			_ = c.Close()
		}
	})
}

// A destination whose key is refused waits, and continues with another one.
func TestRefused(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.clients()
		w.refuse.Store(true)
		w.begin(0, c.ids...)
		time.Sleep(mapLease + time.Second) // Before it copies a range it waits for leases.
		if m := w.keeper.now().Moves; m[0].Step != placement.Copy || !strings.Contains(w.log.String(), errKey.Error()) {
			w.t.Errorf("%v, %s", m[0].Step, w.log)
		}
		w.refuse.Store(false)
		if wrong := c.finish(); wrong != "" {
			w.t.Error(wrong)
		}
	})
}
