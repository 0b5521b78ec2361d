package catfishtest

import (
	"encoding/binary"
	"fmt"
)

// Numbered is a value whose every 8 bytes say where they are, and of which value.
func Numbered(seed uint64, n int) []byte {
	b := make([]byte, 0, n+8)
	for i := uint64(0); len(b) < n; i++ {
		b = binary.LittleEndian.AppendUint64(b, seed<<32|i)
	}
	return b[:n]
}

// Key is the key of record i.
func Key(i int) []byte { return fmt.Appendf(nil, "key %d", i) }
