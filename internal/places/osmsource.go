package places

import (
	"errors"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/internal/places/input"
)

// osmSource delivers the places that its osm made, until the input ends and no
// object waits.
type osmSource struct {
	*osm
	id string // Options.ID
	// read passes further objects to osm. It returns io.EOF at the end.
	read func() error
	// where is the position of the objects read last: in PBF, of their block.
	where func() (line, offset int64)
	ended bool
	taken int // of ready
}

func newPBF(r io.Reader, o *osm, id string) *osmSource {
	file := input.NewOSMFile(r)
	return &osmSource{
		osm: o, id: id,
		read:  func() error { return file.Next(o) },
		where: func() (line, offset int64) { return 0, file.Offset() },
	}
}

func (s *osmSource) next() (Place, error) {
	for {
		if s.taken < len(s.ready) {
			p := s.ready[s.taken]
			s.ready[s.taken] = Place{} // so that it can be freed
			s.taken++
			return s.named(p)
		}
		s.ready, s.taken = s.ready[:0], 0
		if err := s.more(); err != nil {
			return Place{}, err
		}
	}
}

func (s *osmSource) at() (line, offset int64) { return s.where() }

// more reads further objects, or after the end takes an object that waited.
func (s *osmSource) more() error {
	line, offset := s.where()
	if s.ended {
		if len(s.waiting) == 0 {
			return io.EOF
		}
		obj := s.waiting[0]
		s.waiting = s.waiting[1:]
		p, ok, err := s.build(obj)
		switch {
		case err != nil:
			return badAt(line, offset, err)
		case ok:
			s.ready = append(s.ready, p)
		default:
			s.incomplete.Add(1)
		}
		return nil
	}
	err := s.read()
	if err == io.EOF {
		s.ended = true
		err = s.end()
	}
	if err == nil {
		return nil
	}
	var bad badRecord
	if errors.As(err, &bad) {
		return bad
	}
	line, offset = s.where()
	return finalAt(line, offset, err)
}

// named sets the id of a place to the value of a tag, if requested.
func (s *osmSource) named(p Place) (Place, error) {
	if s.id == "" {
		return p, nil
	}
	id, err := propertyID(p.Properties, s.id)
	if err != nil {
		line, offset := s.where()
		return Place{}, badAt(line, offset, fmt.Errorf("%s: %w", p.ID, err))
	}
	p.ID = id
	return p, nil
}
