package micro

import (
	"bytes"
	"fmt"
)

// compare looks for a byte that a request of size bytes lost, or changed
// outside its own. Errors wrap ErrCorrupt.
func compare(got, want []byte, size int) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range want {
		if got[i] != want[i] {
			where := "of the request's"
			if i >= size {
				where = "behind the request's"
			}
			return fmt.Errorf("%w: byte %d, %s %d: %#x, want %#x", ErrCorrupt, i, where, size, got[i], want[i])
		}
	}
	return fmt.Errorf("%w: %d of them, want %d", ErrCorrupt, len(got), len(want))
}
