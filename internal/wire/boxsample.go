package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

// The answer to a request of kind boxSample: how many different boxes the server has of a
// collection that is placed by ranges, u64; and the positions of a sample of them on the
// collection's curve, n x u64, each box equally likely. It is all of them if these are at most
// placement.SurveySample.

// AppendBoxSample appends the encoded form.
func AppendBoxSample(b []byte, boxes int, positions []uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(boxes))
	for _, p := range positions {
		b = binary.LittleEndian.AppendUint64(b, p)
	}
	return b
}

// GetBoxSample decodes the answer to a KindBoxSample.
func GetBoxSample(b []byte) (boxes int, positions []uint64, err error) {
	n := len(b)/8 - 1
	if len(b)%8 != 0 || n < 0 || n > placement.SurveySample {
		return 0, nil, fmt.Errorf("%w: a sample of boxes of %d bytes, want 8 for each of at most %d, and 8 more",
			model.ErrProtocol, len(b), placement.SurveySample)
	}
	all := binary.LittleEndian.Uint64(b)
	if all < uint64(n) || all > placement.MaxLoad || n < placement.SurveySample && all != uint64(n) {
		return 0, nil, fmt.Errorf("%w: a sample of %d of %d boxes", model.ErrProtocol, n, all)
	}
	positions = make([]uint64, n)
	for i := range positions {
		positions[i] = binary.LittleEndian.Uint64(b[8+8*i:])
	}
	return int(all), positions, nil
}
