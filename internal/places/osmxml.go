package places

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/catfish-index/catfish/internal/places/input"
)

// OpenStreetMap XML (https://wiki.openstreetmap.org/wiki/OSM_XML)
//
//	<osm version="0.6">
//	  <node id="1" lat="42.5" lon="1.5"> <tag k="name" v="Andorra"/> </node>
//	  <way id="2"> <nd ref="1"/> <tag k="" v=""/> </way>
//	  <relation id="3"> <member type="way" ref="2" role="outer"/> ... </relation>
//	</osm>
//
// Objects that an editor has marked as deleted are left out. Change files
// (<osmChange>) are refused: they hold parts of objects.

// maxChildren bounds the tags, nodes or members of an object: the limit of
// package datasets for the nodes of a way.
const maxChildren = 1 << 20

// maxElementBytes bounds one tag, comment or text. OpenStreetMap's values have
// up to 255 characters; a decoder uses some 13 bytes for one byte of attributes.
const maxElementBytes = 1 << 20

type xmlReader struct {
	dec   *xml.Decoder
	limit *elementLimit
	sink  *osm
	begun bool
	line  int64 // of the current object
	start int64

	nodes   []int64 // these are reused
	tags    []input.OSMTag
	members []input.OSMMember
}

func newXML(r io.Reader, o *osm, id string) *osmSource {
	limit := &elementLimit{r: r}
	x := &xmlReader{dec: xml.NewDecoder(limit), limit: limit, sink: o}
	x.dec.CharsetReader = func(name string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("%w: XML in %s, want UTF-8", input.ErrUnsupported, input.Quote(name))
	}
	return &osmSource{osm: o, id: id, read: x.object, where: x.where}
}

func (x *xmlReader) where() (line, offset int64) { return x.line, x.start }

// token reads a token, whose memory the decoder may reuse.
func (x *xmlReader) token() (xml.Token, error) {
	x.limit.element = x.limit.read
	t, err := x.dec.RawToken()
	var bad *xml.SyntaxError
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("%w: line %d: %s", input.ErrSyntax, bad.Line, bad.Msg)
	case err == io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("%w: within an XML element", input.ErrTruncated)
	case err != nil && err != io.EOF && x.limit.failed == nil: // another version
		return nil, fmt.Errorf("%w: %w", input.ErrUnsupported, err)
	}
	return t, err
}

// object reads up to the end of the next object, and passes it on.
func (x *xmlReader) object() error {
	for {
		x.start = x.dec.InputOffset()
		line, _ := x.dec.InputPos()
		x.line = int64(line)
		t, err := x.token()
		if err == io.EOF {
			return fmt.Errorf("%w: no </osm> at the end", input.ErrTruncated)
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch name := t.Name.Local; {
			case !x.begun && name != "osm":
				return fmt.Errorf("%w: XML of <%s>, want <osm>",
					input.ErrUnsupported, input.Quote(name))
			case !x.begun:
				x.begun = true
			case name == "node" || name == "way" || name == "relation":
				return x.read(t)
			default: // <bounds>, <note>, <meta>
				if err := x.children(name, nil); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if t.Name.Local != "osm" {
				return fmt.Errorf("%w: </%s> without a beginning",
					input.ErrSyntax, input.Quote(t.Name.Local))
			}
			return io.EOF
		}
	}
}

// read reads an object and passes it on. A wrong attribute makes it bad, which is
// reported after all of the object was read.
func (x *xmlReader) read(t xml.StartElement) error {
	x.nodes, x.tags, x.members = x.nodes[:0], x.tags[:0], x.members[:0]
	kind, attrs := t.Name.Local, append([]xml.Attr(nil), t.Attr...)
	var bad error
	err := x.children(kind, func(child xml.StartElement) {
		if bad == nil {
			bad = x.child(child)
		}
	})
	if err != nil {
		return err
	}
	if attr(attrs, "visible") == "false" || attr(attrs, "action") == "delete" {
		return nil
	}
	id, idErr := x.integer(attrs, "id")
	if bad = errors.Join(idErr, bad); bad != nil {
		return badAt(x.line, x.start, fmt.Errorf("%s: %w", kind, bad))
	}
	switch kind {
	case "node":
		lon, lonErr := degrees(attrs, "lon", 180)
		lat, latErr := degrees(attrs, "lat", 90)
		if err := errors.Join(lonErr, latErr); err != nil {
			return badAt(x.line, x.start, fmt.Errorf("node %d: %w", id, err))
		}
		return x.sink.Node(id, lon, lat, x.tags)
	case "way":
		return x.sink.Way(id, x.nodes, x.tags)
	}
	return x.sink.Relation(id, x.members, x.tags)
}

// children skips an element up to its end, and calls each, unless nil, for the
// elements within it.
func (x *xmlReader) children(name string, each func(xml.StartElement)) error {
	depth := 0
	for n := 0; ; {
		t, err := x.token()
		if err == io.EOF {
			return fmt.Errorf("%w: no </%s>", input.ErrTruncated, name)
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if n++; n > maxChildren {
				return fmt.Errorf("%w: <%s> with more than %d elements",
					input.ErrTooLarge, name, maxChildren)
			}
			if each != nil && x.dec.InputOffset()-x.start > maxRecordBytes {
				return fmt.Errorf("%w: <%s> with more than %d bytes",
					input.ErrTooLarge, name, maxRecordBytes)
			}
			if depth++; depth == 1 && each != nil {
				each(t)
			}
		case xml.EndElement:
			if depth == 0 && t.Name.Local != name {
				return fmt.Errorf("%w: </%s> where </%s> should be",
					input.ErrSyntax, input.Quote(t.Name.Local), name)
			}
			if depth--; depth < 0 {
				return nil
			}
		}
	}
}

func (x *xmlReader) child(t xml.StartElement) error {
	switch t.Name.Local {
	case "tag":
		x.tags = append(x.tags, input.OSMTag{
			Key: []byte(attr(t.Attr, "k")), Value: []byte(attr(t.Attr, "v")),
		})
	case "nd":
		ref, err := x.integer(t.Attr, "ref")
		x.nodes = append(x.nodes, ref)
		return err
	case "member":
		kind, known := kinds[attr(t.Attr, "type")]
		if !known {
			return fmt.Errorf("%w: member of type %s", input.ErrSyntax, input.Quote(attr(t.Attr, "type")))
		}
		ref, err := x.integer(t.Attr, "ref")
		x.members = append(x.members, input.OSMMember{
			ID: ref, Kind: kind, Role: []byte(attr(t.Attr, "role")),
		})
		return err
	}
	return nil
}

var kinds = map[string]input.OSMKind{
	"node": input.OSMNode, "way": input.OSMWay, "relation": input.OSMRelation,
}

func attr(attrs []xml.Attr, name string) string {
	for _, a := range attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (x *xmlReader) integer(attrs []xml.Attr, name string) (int64, error) {
	text := attr(attrs, name)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %s=%s, want a 64-bit integer", input.ErrSyntax, name, input.Quote(text))
	}
	return v, nil
}

func degrees(attrs []xml.Attr, name string, most float64) (float64, error) {
	text := attr(attrs, name)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(v) <= most) {
		return 0, fmt.Errorf("%w: %s=%s, want degrees from %v to %v",
			input.ErrSyntax, name, input.Quote(text), -most, most)
	}
	return v, nil
}

// elementLimit ends the input when one tag, comment or text is too long, since
// the decoder keeps it in memory.
type elementLimit struct {
	r             io.Reader
	read, element int64
	failed        error // error of r, or the limit; not io.EOF
}

func (l *elementLimit) Read(b []byte) (int, error) {
	if l.read-l.element > maxElementBytes {
		l.failed = fmt.Errorf("%w: an XML element of more than %d bytes",
			input.ErrTooLarge, maxElementBytes)
		return 0, l.failed
	}
	n, err := l.r.Read(b)
	l.read += int64(n)
	if err != io.EOF {
		l.failed = err
	}
	return n, err
}
