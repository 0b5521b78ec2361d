package wire

import (
	"encoding/binary"
	"fmt"
	"time"

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

// The answer to a request of kind slotRequests:
//
//	over u64 (ns), of u32, 0 u32, 4,096 x counted u32
const slotRequestsHead = 16

// AppendSlotRequests appends the encoded form.
func AppendSlotRequests(b []byte, r *placement.Requests) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Over))
	b = binary.LittleEndian.AppendUint32(b, r.Of)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, n := range r.Counted {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// GetSlotRequests decodes the answer to a KindSlotRequests.
func GetSlotRequests(b []byte) (*placement.Requests, error) {
	if want := slotRequestsHead + placement.Slots*4; len(b) != want {
		return nil, fmt.Errorf("%w: the requests of slots have %d bytes, want %d", model.ErrProtocol, len(b), want)
	}
	r := &placement.Requests{Over: time.Duration(binary.LittleEndian.Uint64(b)), Of: binary.LittleEndian.Uint32(b[8:])}
	if r.Over < 0 {
		return nil, fmt.Errorf("%w: requests of slots over %v", model.ErrProtocol, r.Over)
	}
	for i := range r.Counted {
		r.Counted[i] = binary.LittleEndian.Uint32(b[slotRequestsHead+4*i:])
	}
	return r, nil
}
