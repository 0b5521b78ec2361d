package placement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// format of an encoded map. Another one, and fields that this one has not, are refused:
// they would be lost in the next map that is written.
const format = 1

// encoded is a Map as JSON, as other values in etcd are, with the slots as one string of
// base64.
type encoded struct {
	Format  int     `json:"format"`
	Version uint64  `json:"version,string"`
	Epoch   uint64  `json:"epoch,string"`
	Groups  []Group `json:"groups"`
	Slots   []Index `json:"slots"` // []uint8: base64
	Boxes   []Curve `json:"boxes,omitempty"`
	Moves   []Move  `json:"moves,omitempty"`
}

// Encode returns a valid map as at most MaxBytes. ErrMap: it is longer; extents may be left
// out.
func (m *Map) Encode() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(encoded{format, m.Version, m.Epoch, m.Groups, m.Slots[:], m.Boxes, m.Moves})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMap, err)
	}
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrMap, len(b), MaxBytes)
	}
	return b, nil
}

// Decode returns the map that Encode encoded, validated. ErrMap.
func Decode(b []byte) (*Map, error) {
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrMap, len(b), MaxBytes)
	}
	var e encoded
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMap, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more follows at byte %d of %d", ErrMap, d.InputOffset(), len(b))
	}
	if e.Format != format {
		return nil, fmt.Errorf("%w: format %d, want %d", ErrMap, e.Format, format)
	}
	if len(e.Slots) != Slots {
		return nil, fmt.Errorf("%w: %d slots, want %d", ErrMap, len(e.Slots), Slots)
	}
	m := &Map{Version: e.Version, Epoch: e.Epoch, Groups: e.Groups, Boxes: e.Boxes, Moves: e.Moves}
	copy(m.Slots[:], e.Slots)
	return m.checked()
}
