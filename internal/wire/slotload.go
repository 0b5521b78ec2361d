package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

// The answer to a request of kind slotLoad: how many bytes the server has of each slot, from
// slot 0 on, 4,096 x u64. Plans of moves between groups need it.

const slotLoadBytes = placement.Slots * 8

// AppendSlotLoad appends the encoded form.
func AppendSlotLoad(b []byte, load *[placement.Slots]uint64) []byte {
	for _, n := range load {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// GetSlotLoad decodes the answer to a KindSlotLoad.
func GetSlotLoad(b []byte) (*[placement.Slots]uint64, error) {
	if len(b) != slotLoadBytes {
		return nil, fmt.Errorf("%w: the load of slots has %d bytes, want %d", model.ErrProtocol, len(b), slotLoadBytes)
	}
	load := new([placement.Slots]uint64)
	for i := range load {
		load[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return load, nil
}
