package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
)

// A request of kind named is the request of a write, with its name, by which a group
// recognises one that is repeated (once.go of package store). Clients name the writes that
// they send to members of groups.
//
//	0 client u64 | 8 number u64 | 16 after u64 | 24 kind u8 | 25 flags u8 | 26 0 u48 | 32 payload of that kind
//
// A store of n features has n numbers, from this one on.

// NameBytes is what a name adds to a request.
const NameBytes = 32

const nameAgain = 1 // in flags

// Name is that of a write.
type Name struct {
	Client uint64 // random, not 0
	Number uint64
	After  uint64 // a revision that readers saw before the write was first sent
	Again  bool   // the write was sent before, and its answer was lost
}

// MayName reports whether a request may have a name.
func MayName(k fastmsg.Kind) bool {
	switch k {
	case KindInsert, KindDelete, KindUpdate, KindInsertMany, KindStore, KindErase, KindPatch,
		KindCreateKept, KindCreateFeatures, KindDrop, KindPut, KindAppend, KindRemove, KindCreateRecords:
		return true
	}
	return false
}

// AppendNamed appends a request with a name.
func AppendNamed(b []byte, n *Name, k fastmsg.Kind, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, n.Client)
	b = binary.LittleEndian.AppendUint64(b, n.Number)
	b = binary.LittleEndian.AppendUint64(b, n.After)
	flags := byte(0)
	if n.Again {
		flags = nameAgain
	}
	b = append(b, byte(k), flags, 0, 0, 0, 0, 0, 0)
	return append(b, payload...)
}

// GetNamed decodes a request with a name. The payload lies in b.
func GetNamed(b []byte) (n Name, k fastmsg.Kind, payload []byte, err error) {
	if len(b) < NameBytes {
		return n, 0, nil, fmt.Errorf("%w: a request with a name of %d bytes, want %d or more", model.ErrProtocol, len(b), NameBytes)
	}
	k = fastmsg.Kind(b[24])
	n = Name{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), b[25]&nameAgain != 0}
	if n.Client == 0 || !MayName(k) || b[25]&^nameAgain != 0 {
		return n, 0, nil, fmt.Errorf("%w: client %x names a request of kind %d, flags %#x", model.ErrProtocol, n.Client, k, b[25])
	}
	return n, k, b[NameBytes:], nil
}
