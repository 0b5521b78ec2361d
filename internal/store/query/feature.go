package query

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
)

// Feature is a place: an id, a geometry, properties.
type Feature struct {
	// ID is unique in its collection, 1 to 512 bytes of UTF-8. Empty in a Put:
	// one is made (UUIDv7, RFC 9562).
	ID string
	// Geometry of any GeoJSON type, or nil.
	Geometry orb.Geometry
	// Altitudes of the positions of Geometry, in the order in which GeoJSON writes
	// them: one for each, NaN for a position that has none. Nil: none has one. No
	// query looks at them.
	Altitudes []float64
	// Properties is the text of a JSON object, or nil.
	Properties json.RawMessage
	// Expires is when the feature expires, by the server's clock; zero: never.
	Expires time.Time
	// Revision of the write that stored this state.
	Revision uint64
	// Distance of a Nearest: metres, or the unit of a planar space.
	Distance float64
}

// Feature returns a copy of the found feature, in memory of its own.
func (f *Found) Feature() Feature {
	return Feature{
		ID: string(f.ID), Geometry: f.View.Geometry(), Altitudes: f.View.Altitudes(nil), Properties: bytes.Clone(f.View.Properties()),
		Expires: f.Expires(), Revision: f.Revision, Distance: f.Distance,
	}
}

// Open finds the View in the value.
func (f *Found) Open() (err error) {
	f.View, err = feature.Open(f.Value)
	return err
}

// Encode checks a feature, and returns its bytes.
func (f *Feature) Encode(s feature.Space) ([]byte, error) {
	if err := feature.CheckID(f.ID); err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrFeature, err)
	}
	g, z, err := feature.NormaliseZ(f.Geometry, f.Altitudes, feature.Options{Space: s})
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", fault.ErrFeature, f.ID, err)
	}
	p, err := feature.CompactProperties(f.Properties)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", fault.ErrFeature, f.ID, err)
	}
	b, err := feature.AppendZ(nil, g, z, p)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", fault.ErrFeature, f.ID, err)
	}
	return b, nil
}

// NewID makes an id, a UUIDv7: ids that are made sequentially are nearly in order.
func NewID(now time.Duration) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // It never fails.
	binary.BigEndian.PutUint64(b[:], uint64(now/time.Millisecond)<<16|uint64(b[6])<<8|uint64(b[7]))
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	var t [36]byte
	hex.Encode(t[:8], b[:4])
	hex.Encode(t[9:13], b[4:6])
	hex.Encode(t[14:18], b[6:8])
	hex.Encode(t[19:23], b[8:10])
	hex.Encode(t[24:], b[10:])
	t[8], t[13], t[18], t[23] = '-', '-', '-', '-'
	return string(t[:])
}

// Encode checks a feature for a space, and returns its id, which is made if it has
// none, and its bytes, for PutEncoded.
func Encode(f Feature, s feature.Space) (id string, value []byte, err error) {
	if f.ID == "" {
		f.ID = NewID(time.Duration(time.Now().UnixNano()))
	}
	value, err = f.Encode(s)
	return f.ID, value, err
}

// Expiry is when a feature expires, since the Unix epoch, 0 for never.
func Expiry(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return time.Duration(t.UnixNano())
}
