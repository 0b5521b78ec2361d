package cql2

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseJSON reads a filter in CQL2 JSON. has describes the properties. Errors are
// *Error and have a Pointer, or a Column where the text is not JSON.
//
// It refuses members that a CQL2 object does not have, and duplicate members.
func ParseJSON(s string, has Properties) (f *Filter, err error) {
	defer recovered(&f, &err)
	if len(s) > MaxBytes {
		return nil, tooLong(s)
	}
	var valid json.RawMessage
	if err := json.Unmarshal([]byte(s), &valid); err != nil {
		return nil, syntaxError(s, err)
	}
	v := decode(s)
	root := &pointer{}
	n := (&jsonParser{}).node(v, root)
	t := translator{properties: has, errorAt: func(at place, message string) *Error {
		return &Error{Pointer: at.pointer.String(), Message: message}
	}}
	return t.compile(n, s, true), nil
}

func syntaxError(s string, err error) *Error {
	at := len(s)
	var bad *json.SyntaxError
	if errors.As(err, &bad) && !strings.Contains(bad.Error(), "unexpected end") {
		at = max(int(bad.Offset)-1, 0)
	}
	return errorAt(s, at, "no JSON: "+err.Error())
}

// object is a JSON object, with its members in order. Duplicate names are kept.
type object []member

type member struct {
	name  string
	value any
}

// decode returns valid JSON as object, []any, string, json.Number, bool or nil.
// encoding/json would keep only the last of several members of one name.
func decode(s string) any {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return decodeNext(d)
}

func decodeNext(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		panic(err) // The caller has validated it.
	}
	switch token {
	case json.Delim('['):
		all := []any{}
		for d.More() {
			all = append(all, decodeNext(d))
		}
		_, _ = d.Token()
		return all
	case json.Delim('{'):
		var o object
		for d.More() {
			name, _ := d.Token()
			o = append(o, member{name.(string), decodeNext(d)})
		}
		_, _ = d.Token()
		return o
	}
	return token
}

// jsonParser builds nodes from decoded JSON. It fails as parser does.
type jsonParser struct{ depth int }

func (p *jsonParser) fail(at *pointer, format string, args ...any) {
	panic(&Error{Pointer: at.String(), Message: fmt.Sprintf(format, args...)})
}

func (p *pointer) to(step string) *pointer { return &pointer{p, step} }

func (p *pointer) index(i int) *pointer { return p.to(strconv.Itoa(i)) }

func (p *jsonParser) node(v any, at *pointer) *node {
	n := &node{at: place{pointer: at}}
	switch v := v.(type) {
	case string:
		n.form, n.text = character, v
	case bool:
		n.form, n.text = boolean, strconv.FormatBool(v)
	case json.Number:
		n.form, n.text = numeral, v.String()
		p.number(v, at)
	case []any:
		n.form = list
		p.nodes(n, v, at)
	case object:
		p.object(n, v, at)
	default:
		p.fail(at, "null, want a condition, a property or a literal")
	}
	return n
}

func (p *jsonParser) nodes(n *node, all []any, at *pointer) {
	if p.depth++; p.depth > maxDepth {
		p.fail(at, "nests deeper than %d", maxDepth)
	}
	for i, v := range all {
		n.args = append(n.args, p.node(v, at.index(i)))
	}
	p.depth--
}

// kinds of objects, by the member that identifies them, and their other members.
var kinds = []struct {
	by   string
	with []string
}{
	{"op", []string{"args"}},
	{"property", nil},
	{"date", nil},
	{"timestamp", nil},
	{"interval", nil},
	{"type", []string{"coordinates", "bbox"}},
	{"bbox", nil},
}

func (p *jsonParser) object(n *node, o object, at *pointer) {
	names := map[string]bool{}
	for _, m := range o {
		if names[m.name] {
			p.fail(at.to(m.name), "there are two members of this name")
		}
		names[m.name] = true
	}
	for _, k := range kinds {
		if !names[k.by] {
			continue
		}
		for _, m := range o {
			if m.name != k.by && !slices.Contains(k.with, m.name) {
				p.fail(at.to(m.name), "member %.40q is unknown beside %q", m.name, k.by)
			}
		}
		switch k.by {
		case "op":
			p.operation(n, o, at)
		case "property":
			n.form, n.text = property, p.text(o, "property", at)
		case "date":
			p.instant(n, date, o, k.by, at)
		case "timestamp":
			p.instant(n, timestamp, o, k.by, at)
		case "interval":
			p.interval(n, o, at)
		case "type":
			p.geometry(n, o, at)
		case "bbox":
			p.box(n, o, at)
		}
		return
	}
	p.fail(at, "an object, want one with op and args, property, date, timestamp, interval, type and coordinates, or bbox")
}

// get returns a member of an object, or nil.
func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (p *jsonParser) text(o object, name string, at *pointer) string {
	s, ok := o.get(name).(string)
	if !ok {
		p.fail(at.to(name), "want a text")
	}
	return s
}

func (p *jsonParser) array(o object, name string, at *pointer) []any {
	all, ok := o.get(name).([]any)
	if !ok {
		p.fail(at.to(name), "want an array")
	}
	return all
}

func (p *jsonParser) operation(n *node, o object, at *pointer) {
	n.op = p.text(o, "op", at)
	want, ok := arities[n.op]
	if !ok {
		f, known := functions[strings.ToUpper(n.op)]
		if want = f.args; !known || f.op != n.op {
			p.fail(at.to("op"), "operation %.40q is unknown%s", n.op, strings.ToLower(likelyMeant(n.op)))
		}
	}
	args := p.array(o, "args", at)
	switch many := n.op == opAnd || n.op == opOr; {
	case many && len(args) < want:
		p.fail(at.to("args"), "%d arguments of %s, want %d or more", len(args), n.op, want)
	case !many && len(args) != want:
		p.fail(at.to("args"), "%d arguments of %s, want %d", len(args), n.op, want)
	}
	p.nodes(n, args, at.to("args"))
}

func (p *jsonParser) instant(n *node, f form, o object, name string, at *pointer) {
	s := p.text(o, name, at)
	t, ok := momentOf(f, s)
	if !ok {
		p.fail(at.to(name), "%.40q, want a time such as %s", s, map[form]string{date: "2024-05-01", timestamp: "2024-05-01T12:00:00Z"}[f])
	}
	n.form, n.text, n.moment = f, s, t
}

func (p *jsonParser) interval(n *node, o object, at *pointer) {
	n.form = interval
	all := p.array(o, "interval", at)
	at = at.to("interval")
	if len(all) != 2 {
		p.fail(at, "%d ends, want 2", len(all))
	}
	for i, v := range all {
		s, ok := v.(string)
		if !ok {
			n.args = append(n.args, p.node(v, at.index(i)))
			continue
		}
		end, ok := intervalEndOf(s)
		if !ok {
			p.fail(at.index(i), "%.40q, want %s", s, intervalEnds)
		}
		end.at = place{pointer: at.index(i)}
		n.args = append(n.args, end)
	}
}
