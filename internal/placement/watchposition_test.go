package placement

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/fault"
)

// Texts of positions are bounded, and decode to what they were.
func TestPositionText(t *testing.T) {
	most := &WatchPosition{math.MaxUint64, slices.Repeat([]GroupPosition{{math.MaxUint64, math.MaxUint64}}, MaxGroups)}
	for _, p := range []*WatchPosition{{1, nil}, {7, []GroupPosition{{1, 2}, {3, 4}}}, most} {
		text := p.String()
		got, err := ParseWatchPosition(text)
		if err != nil || len(text) > 2<<10 || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v: %d bytes, %+v, %v", p, len(text), got, err)
		}
		b, _ := base64.RawURLEncoding.DecodeString(text)
		b = append(b[:len(b)-4], 1) // a byte more
		for n := range len(b) + 1 { // others, with a right check sum
			if n == len(b)-1 {
				continue // itself
			}
			other := binary.LittleEndian.AppendUint32(slices.Clone(b[:n]), crc32.Checksum(b[:n], castagnoli))
			if _, err := ParseWatchPosition(base64.RawURLEncoding.EncodeToString(other)); !errors.Is(err, fault.ErrQuery) {
				t.Fatalf("%d bytes of %d: %v", n, len(b), err)
			}
		}
	}
}
