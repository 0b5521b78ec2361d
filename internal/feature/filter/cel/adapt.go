package cel

import (
	"errors"
	"math"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// For CEL an object or list is a reader and a piece of JSON text: looking up a
// name or an index steps over the text. Operations that CEL seldom uses
// (converting, joining lists) work on CEL's own map or list of the members,
// whose objects and lists are again pieces of text.
//
// Both types are used by pointer: CEL uses values as keys of Go maps, and a
// struct with a slice cannot be one.

// errRead ends a CEL operation whose reader has failed. Match returns the
// reader's own error instead.
var errRead = errors.New("properties cannot be read")

// val returns v for CEL.
func val(r *props.Reader, v props.Value) ref.Val {
	switch v.Kind {
	case props.Null:
		return types.NullValue
	case props.Boolean:
		return types.Bool(v.Num == 1)
	case props.Integer:
		return types.Int(v.Num)
	case props.Unsigned:
		return types.Uint(v.Num)
	case props.Double:
		return types.Double(math.Float64frombits(v.Num))
	case props.Text:
		return types.String(v.S)
	case props.Object:
		return &jsonObject{r, v.S}
	case props.Array:
		return &jsonList{r, v.S}
	}
	return types.WrapErr(errRead)
}

// jsonObject is an object as a map of CEL.
type jsonObject struct {
	r   *props.Reader
	raw []byte
}

var (
	_ traits.Mapper   = (*jsonObject)(nil)
	_ traits.Foldable = (*jsonObject)(nil)
)

func (o *jsonObject) Type() ref.Type { return types.MapType }

// Find returns the member of that name. `.` and `[]` call it.
func (o *jsonObject) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false // all names are strings
	}
	raw := o.r.Find(o.raw, string(name))
	if o.r.Fault != props.Sound {
		return types.WrapErr(errRead), false
	}
	if raw == nil {
		return nil, false
	}
	return val(o.r, o.r.Value(raw)), true
}

func (o *jsonObject) Get(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if !ok && v == nil {
		return types.ValOrErr(key, "no such key: %v", key)
	}
	return v
}

func (o *jsonObject) Contains(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if types.IsError(v) {
		return v
	}
	return types.Bool(ok)
}

func (o *jsonObject) Size() ref.Val { return size(o.r, o.raw, '{') }

// Iterator steps over the names.
func (o *jsonObject) Iterator() traits.Iterator { return newIterator(o.r, o.raw, '{') }

// Fold is called by CEL's macros.
func (o *jsonObject) Fold(f traits.Folder) { fold(o.r, o.raw, '{', f) }

func (o *jsonObject) Equal(other ref.Val) ref.Val {
	if b, ok := other.(*jsonObject); ok {
		other = b.all() // Equal looks up each name, and would search the text for it.
	}
	return o.all().Equal(other)
}

func (o *jsonObject) ConvertToNative(t reflect.Type) (any, error) {
	return o.all().ConvertToNative(t)
}

func (o *jsonObject) ConvertToType(t ref.Type) ref.Val { return o.all().ConvertToType(t) }

func (o *jsonObject) Value() any { return o.all().Value() }

// all returns the members as CEL's own map.
func (o *jsonObject) all() ref.Val {
	members := make(map[ref.Val]ref.Val)
	for it := newIterator(o.r, o.raw, '{'); it.more && o.r.Spend(props.MemberBytes); it.step() {
		if _, twice := members[it.name()]; !twice {
			members[it.name()] = val(o.r, o.r.Value(it.c.Val))
		}
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, members)
}

// jsonList is a list of CEL.
type jsonList struct {
	r   *props.Reader
	raw []byte
}

var (
	_ traits.Lister   = (*jsonList)(nil)
	_ traits.Foldable = (*jsonList)(nil)
)

func (l *jsonList) Type() ref.Type { return types.ListType }

func (l *jsonList) Get(index ref.Val) ref.Val {
	i, err := types.GetOrError(index)
	if err != nil {
		return types.WrapErr(err)
	}
	it := newIterator(l.r, l.raw, '[')
	for ; it.more; it.step() {
		if i == 0 {
			return val(l.r, l.r.Value(it.c.Val))
		}
		i--
	}
	return types.NewErr("index out of bounds: %v", index)
}

func (l *jsonList) Contains(elem ref.Val) ref.Val {
	it := newIterator(l.r, l.raw, '[')
	for ; it.more; it.step() {
		if types.Equal(val(l.r, l.r.Value(it.c.Val)), elem) == types.True {
			return types.True
		}
	}
	return types.False
}

func (l *jsonList) Size() ref.Val { return size(l.r, l.raw, '[') }

func (l *jsonList) Iterator() traits.Iterator { return newIterator(l.r, l.raw, '[') }

// Fold is called by CEL's macros. Without it they would call Get for each
// index, which steps over all elements before it.
func (l *jsonList) Fold(f traits.Folder) { fold(l.r, l.raw, '[', f) }

func (l *jsonList) Add(other ref.Val) ref.Val {
	a, ok := l.all().(traits.Adder)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return a.Add(other)
}

func (l *jsonList) Equal(other ref.Val) ref.Val {
	if b, ok := other.(*jsonList); ok {
		other = b.all() // Equal looks up each index, and would search the text for it.
	}
	return l.all().Equal(other)
}

func (l *jsonList) ConvertToNative(t reflect.Type) (any, error) {
	return l.all().ConvertToNative(t)
}

func (l *jsonList) ConvertToType(t ref.Type) ref.Val { return l.all().ConvertToType(t) }

func (l *jsonList) Value() any { return l.all().Value() }

// all returns the elements as CEL's own list.
func (l *jsonList) all() ref.Val {
	var elems []ref.Val
	for it := newIterator(l.r, l.raw, '['); it.more && l.r.Spend(props.MemberBytes); it.step() {
		elems = append(elems, val(l.r, l.r.Value(it.c.Val)))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elems)
}

func size(r *props.Reader, raw []byte, bracket byte) ref.Val {
	n := types.Int(0)
	for it := newIterator(r, raw, bracket); it.more; it.step() {
		n++
	}
	if r.Fault != props.Sound {
		return types.WrapErr(errRead)
	}
	return n
}

// fold passes the members to f one by one, until f has enough.
func fold(r *props.Reader, raw []byte, bracket byte, f traits.Folder) {
	i := types.Int(0)
	for it := newIterator(r, raw, bracket); it.more; it.step() {
		key := ref.Val(i)
		if it.object {
			key = it.name()
		}
		if !f.FoldEntry(key, val(r, r.Value(it.c.Val))) {
			return
		}
		i++
	}
}

// iterator steps over the names of an object or the elements of a list.
type iterator struct {
	ref.Val // for methods that CEL's own iterators do not implement, either
	r       *props.Reader
	c       props.Cursor
	object  bool
	more    bool
}

func newIterator(r *props.Reader, raw []byte, bracket byte) *iterator {
	it := &iterator{r: r, c: r.Open(raw, bracket), object: bracket == '{'}
	it.step()
	return it
}

// step moves to the next member. It sets more.
func (it *iterator) step() { it.more = it.r.Next(&it.c, it.object) }

// name is the name of the current member.
func (it *iterator) name() ref.Val { return types.String(it.r.Name(&it.c)) }

// HasNext reports whether Next has something to return.
func (it *iterator) HasNext() ref.Val { return types.Bool(it.more) }

// Next returns the current name or element and moves on.
func (it *iterator) Next() ref.Val {
	if !it.more {
		return types.WrapErr(errRead)
	}
	var v ref.Val
	if it.object {
		v = it.name()
	} else {
		v = val(it.r, it.r.Value(it.c.Val))
	}
	it.step()
	return v
}
