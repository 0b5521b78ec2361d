package link

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store/disk"
)

func messages() []replica.Message {
	term := disk.TermEntry(8, 3)
	write := disk.Entry{Collection: 1, Kind: disk.Put, Key: []byte("k"), Value: []byte("v"), Old: []byte{}, Revision: 9, Client: 5, Number: 6}
	return []replica.Message{
		&replica.Hello{Term: 3, Session: 4, End: 7, History: replica.History{{Term: 1, First: 1}, {Term: 2, First: 5}}},
		&replica.Frame{Term: 3, Session: 4, Start: true, Prev: 7, Last: 9, Committed: 8, Sent: -1, Entries: []replica.Entry{
			{Term: 3, Data: &term}, {Data: &write}}},
		&replica.Frame{Term: 3, Session: 4, Prev: 9, Last: 9, Entries: []replica.Entry{}},
		&replica.Ack{Term: 3, Session: 4, Received: 9, Durable: 8, Applied: 7, Echo: 6},
		&replica.CopyFirst{Term: 3, Session: 4},
	}
}

func TestMessagesArriveAsTheyWereSent(t *testing.T) {
	var b []byte
	for _, m := range messages() {
		b = Append(b, m)
	}
	r := bufio.NewReader(bytes.NewReader(b))
	for _, want := range messages() {
		got, err := Read(r)
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := got.(*replica.Frame); ok {
			for i := range f.Entries { // A key of no bytes is nil or empty.
				if e := f.Entries[i].Data.(*disk.Entry); len(e.Key) == 0 {
					e.Key, e.Old = nil, nil
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if _, err := Read(r); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// Each flipped bit and each cut is an error.
func TestDamagedMessages(t *testing.T) {
	for _, m := range messages() {
		whole := Append(nil, m)
		for i := range whole {
			b := bytes.Clone(whole)
			b[i] ^= 0x10
			if _, err := Read(bufio.NewReader(bytes.NewReader(b))); err == nil {
				t.Errorf("%T: byte %d", m, i)
			}
			if _, err := Read(bufio.NewReader(bytes.NewReader(whole[:i]))); err == nil {
				t.Errorf("%T: cut off at %d", m, i)
			}
		}
	}
}

// No bytes cause a panic, and what is accepted is what would be sent.
func FuzzParse(f *testing.F) {
	for _, m := range messages() {
		f.Add(Append(nil, m)[prefix:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		if m, err := parse(b); err == nil && !bytes.Equal(Append(nil, m)[prefix:], b) {
			t.Fatalf("%x", b)
		}
	})
}
