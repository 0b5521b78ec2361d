package client

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

// The position of a watch of several groups, as text: base64 of
//
//	byte      format, 1
//	uvarint   epoch of the map
//	uvarint   number of groups that have any slots, in the map's order
//	          for each: 8 bytes history, uvarint resume, as one server's events have them
//	4 bytes   check sum (Castagnoli) of all before
//
// All numbers are little-endian. A group that is not this store's has another history, which
// its server finds.

const (
	positionFormat = 1
	// maxPosition bounds the bytes.
	maxPosition = 1 + 2*binary.MaxVarintLen64 + placement.MaxGroups*(8+binary.MaxVarintLen64) + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// position is how far a watch of several groups is.
type position struct {
	epoch  uint64
	groups []groupPosition
}

type groupPosition struct{ history, resume uint64 }

func (p *position) text() string {
	b := make([]byte, 0, maxPosition)
	b = append(b, positionFormat)
	b = binary.AppendUvarint(b, p.epoch)
	b = binary.AppendUvarint(b, uint64(len(p.groups)))
	for _, g := range p.groups {
		b = binary.LittleEndian.AppendUint64(b, g.history)
		b = binary.AppendUvarint(b, g.resume)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parsePosition returns nil for an empty text: from now on.
func parsePosition(text string) (*position, error) {
	if text == "" {
		return nil, nil
	}
	wrong := func(what string) error {
		return fmt.Errorf("%w: position %.40q of %d bytes: %s; give what an event had", model.ErrQuery, text, len(text), what)
	}
	if most := base64.RawURLEncoding.EncodedLen(maxPosition); len(text) > most {
		return nil, wrong(fmt.Sprintf("at most %d bytes", most))
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, wrong(err.Error())
	}
	if len(b) < 4 || binary.LittleEndian.Uint32(b[len(b)-4:]) != crc32.Checksum(b[:len(b)-4], castagnoli) {
		return nil, wrong("its check sum is wrong")
	}
	b = b[:len(b)-4]
	if len(b) == 0 || b[0] != positionFormat {
		return nil, wrong("its format is unknown")
	}
	b = b[1:]
	uvarint := func() uint64 {
		n, took := binary.Uvarint(b)
		if took <= 0 {
			b, err = nil, wrong("it ends too early")
			return 0
		}
		b = b[took:]
		return n
	}
	p := &position{epoch: uvarint()}
	for n := uvarint(); n > 0 && err == nil; n-- {
		if len(b) < 8 {
			return nil, wrong("it ends too early")
		}
		g := groupPosition{history: binary.LittleEndian.Uint64(b)}
		b = b[8:]
		g.resume = uvarint()
		p.groups = append(p.groups, g)
	}
	if err == nil && len(b) > 0 {
		err = wrong("it is too long")
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// fits returns nil if a watch may continue from here by the map. ErrLagged: it cannot. ErrMoved:
// the map is older.
func (p *position) fits(v *view) error {
	switch {
	case p == nil:
		return nil
	case p.epoch > v.epoch:
		return fmt.Errorf("%w: the position is by a map of epoch %d, and that of the groups is of %d", model.ErrMoved, p.epoch, v.epoch)
	case p.epoch < v.epoch:
		return fmt.Errorf("%w: slots have moved between groups since: search again", model.ErrLagged)
	case len(p.groups) != len(v.having()):
		return fmt.Errorf("%w: the position is of %d groups, and %d have the store: search again", model.ErrLagged, len(p.groups), len(v.having()))
	}
	return nil
}
