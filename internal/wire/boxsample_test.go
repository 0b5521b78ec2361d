package wire

import (
	"errors"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

// A sample comes back as it was; one that cannot be is refused.
func TestBoxSample(t *testing.T) {
	full := make([]uint64, placement.SurveySample)
	full[7] = 1 << 63
	for _, want := range [][]uint64{{}, {3, 1, 3}, full} {
		boxes := len(want)
		if boxes == len(full) {
			boxes = 1 << 40
		}
		b := AppendBoxSample(nil, boxes, want)
		if n, got, err := GetBoxSample(b); err != nil || n != boxes || !slices.Equal(got, want) {
			t.Errorf("%d of %d boxes, %v", len(got), n, err)
		}
	}
	for what, bad := range map[string][]byte{
		"nothing": {}, "a byte more": AppendBoxSample(nil, 1, []uint64{1, 0})[:17], "fewer boxes": AppendBoxSample(nil, 1, []uint64{1, 2}),
		"more boxes": AppendBoxSample(nil, 3, []uint64{1, 2}), "too many boxes": AppendBoxSample(nil, placement.MaxLoad+1, full),
		"a larger sample": AppendBoxSample(nil, 1<<20, append(full, 1)),
	} {
		if _, _, err := GetBoxSample(bad); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
