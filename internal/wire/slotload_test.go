package wire

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

func TestSlotLoad(t *testing.T) {
	var load [placement.Slots]uint64
	for i := range load {
		load[i] = uint64(i) << 40
	}
	b := AppendSlotLoad(nil, &load)
	if got, err := GetSlotLoad(b); err != nil || *got != load {
		t.Error(err)
	}
	for _, bad := range [][]byte{nil, b[1:], append(b, 0)} {
		if _, err := GetSlotLoad(bad); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

// What was counted of each slot, and over which time, is what it was after encoding; another size is
// refused.
func TestSlotRequests(t *testing.T) {
	r := &placement.Requests{Over: 7 * time.Minute, Of: 16}
	for s := range r.Counted {
		r.Counted[s] = uint32(s * 3)
	}
	b := AppendSlotRequests(nil, r)
	if got, err := GetSlotRequests(b); err != nil || *got != *r {
		t.Error(err)
	}
	past := bytes.Clone(b)
	past[7] = 0x80
	for _, bad := range [][]byte{nil, b[:len(b)-4], append(bytes.Clone(b), 0), past} {
		if _, err := GetSlotRequests(bad); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}
