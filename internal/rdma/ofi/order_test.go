package ofi

import (
	"errors"
	"math"
	"testing"
)

// TestOrder: a fabric that orders less than package rdma promises is refused.
func TestOrder(t *testing.T) {
	const want = 0b1011
	for _, tc := range []struct {
		order
		ok bool
	}{
		{order{tx: want, rx: want, raw: 1 << 30, waw: math.MaxUint64}, true},
		{order{tx: 0xff, rx: 0x1f, raw: 1, waw: 1}, true},
		{order{tx: want, rx: want &^ 2, raw: 1, waw: 1}, false},
		{order{tx: want &^ 8, rx: want, raw: 1, waw: 1}, false},
		{order{raw: 1, waw: 1}, false},
		{order{tx: want, rx: want, raw: 0, waw: 1}, false},
		{order{tx: want, rx: want, raw: 1, waw: 0}, false},
	} {
		if err := tc.check(want); (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrFabric) {
			t.Errorf("%+v: %v", tc.order, err)
		}
	}
}
