package tile

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"

	"github.com/catfish-index/catfish/internal/feature"
)

// Values (MVT specification 4.1): a message with one field, by type.
const (
	valueString = 1<<3 | 2
	valueDouble = 3<<3 | 1
	valueInt    = 4 << 3
	valueUint   = 5 << 3
	valueSint   = 6 << 3
	valueBool   = 7 << 3
)

func appendString(dst, text []byte) []byte {
	dst = binary.AppendUvarint(append(dst, valueString), uint64(len(text)))
	return append(dst, text...)
}

// appendValue appends the value of a JSON text: nothing for null.
func appendValue(dst, text []byte, t feature.JSONType) []byte {
	switch t {
	case feature.JSONNull:
		return dst
	case feature.JSONBoolean:
		return append(dst, valueBool, b2u(text[0] == 't'))
	case feature.JSONNumber:
		return appendNumber(dst, text)
	case feature.JSONString:
		return appendString(dst, feature.Unquote(text))
	}
	return appendString(dst, text)
}

func b2u(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendNumber keeps whole numbers in integer notation exact up to 64 bits.
func appendNumber(dst, text []byte) []byte {
	// SAFETY: the string is not kept, and text does not change meanwhile.
	s := unsafe.String(unsafe.SliceData(text), len(text))
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		if i < 0 {
			return binary.AppendUvarint(append(dst, valueSint), zigzag(i))
		}
		return binary.AppendUvarint(append(dst, valueInt), uint64(i))
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return binary.AppendUvarint(append(dst, valueUint), u)
	}
	f, _ := strconv.ParseFloat(s, 64) // Infinite if it is too large.
	return binary.LittleEndian.AppendUint64(append(dst, valueDouble), math.Float64bits(f))
}
