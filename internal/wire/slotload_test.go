package wire

import (
	"errors"
	"testing"

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
