package ycsb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Values that can be checked
//
// A reader must notice if it gets another key's value, half of one and half of
// another, or one that was never written. So a value is
//
//	 0    4        12              28            size
//	+----+--------+---------------+----------------+
//	|sum | seq    | key           | filler         |   little-endian
//	+----+--------+---------------+----------------+
//
// sum is the CRC-32C of what follows. The filler depends on key and seq, and
// each of its words on its place.
//
// A value shorter than HeaderBytes has no room for this: it is the first bytes
// of a sequence that the key determines. It does not contain its seq, and of
// size bytes one value in 256^size fits another key by chance.

// HeaderBytes is the least size of values with a key, a sequence number and a
// check sum.
const HeaderBytes = 28

// ErrValue: a value was not made for the key.
var ErrValue = errors.New("ycsb: wrong value")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// golden is 2^64 divided by the golden ratio: its multiples are spread out.
const golden = 0x9e3779b97f4a7c15

// Value returns a value of size bytes, 1 or more.
func Value(key Key, seq uint64, size int) []byte {
	return AppendValue(make([]byte, 0, size), key, seq, size)
}

// AppendValue appends what Value returns. It does not allocate if dst has
// room.
func AppendValue(dst []byte, key Key, seq uint64, size int) []byte {
	if size < HeaderBytes {
		return appendFiller(dst, shortFiller(key), size)
	}
	from := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, seq)
	dst = append(dst, key[:]...)
	dst = appendFiller(dst, mix(shortFiller(key)+seq), size-HeaderBytes)
	v := dst[from:]
	binary.LittleEndian.PutUint32(v, crc32.Checksum(v[4:], castagnoli))
	return dst
}

// CheckValue returns the sequence number with which a value of the key was
// made, 0 for values shorter than HeaderBytes. Errors wrap ErrValue. The value
// may be any bytes.
func CheckValue(key Key, value []byte) (seq uint64, err error) {
	if len(value) == 0 {
		return 0, fmt.Errorf("%w: it is empty, of key %s", ErrValue, key)
	}
	if len(value) < HeaderBytes {
		var room [HeaderBytes]byte
		if want := appendFiller(room[:0], shortFiller(key), len(value)); string(want) != string(value) {
			return 0, fmt.Errorf("%w: %x, want %x of key %s", ErrValue, value, want, key)
		}
		return 0, nil
	}
	seq = binary.LittleEndian.Uint64(value[4:])
	sum := binary.LittleEndian.Uint32(value)
	if got := crc32.Checksum(value[4:], castagnoli); got != sum {
		return 0, fmt.Errorf("%w: check sum %08x, want %08x, of key %s with %d bytes",
			ErrValue, got, sum, key, len(value))
	}
	if of := Key(value[12:HeaderBytes]); of != key {
		return 0, fmt.Errorf("%w: it is of key %q, want %s", ErrValue, of.String(), key)
	}
	return seq, nil
}

func shortFiller(key Key) uint64 {
	return mix(binary.LittleEndian.Uint64(key[:]) ^ mix(binary.LittleEndian.Uint64(key[8:])))
}

func appendFiller(dst []byte, word uint64, n int) []byte {
	for ; n >= 8; n -= 8 {
		dst = binary.LittleEndian.AppendUint64(dst, word)
		word += golden
	}
	for ; n > 0; n-- {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}
