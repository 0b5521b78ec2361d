package placement

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/catfish-index/catfish/internal/fault"
)

// The position of a watch of several groups, as text: base64 of
//
//	byte      format, 1
//	uvarint   epoch of the map
//	uvarint   number of groups that have any slots, in the map's order
//	          for each: 8 bytes history, uvarint revision, Resume of one server's events
//	4 bytes   check sum (Castagnoli) of all before
//
// All numbers are little-endian. A group that is not this store's has another history, which
// its server finds.

const (
	positionFormat = 1
	// maxPosition bounds the bytes.
	maxPosition = 1 + 2*binary.MaxVarintLen64 + MaxGroups*(8+binary.MaxVarintLen64) + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WatchPosition is how far a watch of several groups is.
type WatchPosition struct {
	Epoch  uint64
	Groups []GroupPosition // of those that have any slots, in the map's order
}

// GroupPosition is how far one group is: all of its events up to a revision were given.
type GroupPosition struct{ History, Revision uint64 }

// String is the text that ParseWatchPosition reads.
func (p *WatchPosition) String() string {
	b := make([]byte, 0, maxPosition)
	b = append(b, positionFormat)
	b = binary.AppendUvarint(b, p.Epoch)
	b = binary.AppendUvarint(b, uint64(len(p.Groups)))
	for _, g := range p.Groups {
		b = binary.LittleEndian.AppendUint64(b, g.History)
		b = binary.AppendUvarint(b, g.Revision)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseWatchPosition returns nil for an empty text: from now on.
func ParseWatchPosition(text string) (*WatchPosition, error) {
	if text == "" {
		return nil, nil
	}
	wrong := func(what string) error {
		return fmt.Errorf("%w: position %.40q of %d bytes: %s; give what an event had", fault.ErrQuery, text, len(text), what)
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
	p := &WatchPosition{Epoch: uvarint()}
	for n := uvarint(); n > 0 && err == nil; n-- {
		if len(b) < 8 {
			return nil, wrong("it ends too early")
		}
		g := GroupPosition{History: binary.LittleEndian.Uint64(b)}
		b = b[8:]
		g.Revision = uvarint()
		p.Groups = append(p.Groups, g)
	}
	if err == nil && len(b) > 0 {
		err = wrong("it is too long")
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Fits returns nil if a watch may continue from here by a map of this epoch, by which some groups
// have any slots. ErrLagged: it cannot. ErrMoved: the map is older. A nil one is from now on.
func (p *WatchPosition) Fits(epoch uint64, groups int) error {
	switch {
	case p == nil:
		return nil
	case p.Epoch > epoch:
		return fmt.Errorf("%w: the position is by a map of epoch %d, and that of the groups is of %d", fault.ErrMoved, p.Epoch, epoch)
	case p.Epoch < epoch:
		return fmt.Errorf("%w: slots have moved between groups since: search again", fault.ErrLagged)
	case len(p.Groups) != groups:
		return fmt.Errorf("%w: the position is of %d groups, and %d have the store: search again", fault.ErrLagged, len(p.Groups), groups)
	}
	for _, g := range p.Groups {
		if g.Revision == 0 { // A watch takes it for now.
			return fmt.Errorf("%w: revision 0 of a group is before all writes: search again", fault.ErrLagged)
		}
	}
	return nil
}
