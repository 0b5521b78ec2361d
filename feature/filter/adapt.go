package filter

import (
	"errors"
	"math"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
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

// memberBytes is the count of a member that CEL's own map or list takes: it is
// stored, and compared later, 0.1 us or more.
const memberBytes = 16

// val returns v for CEL.
func (r *reader) val(v value) ref.Val {
	switch v.kind {
	case null:
		return types.NullValue
	case boolean:
		return types.Bool(v.num == 1)
	case integer:
		return types.Int(v.num)
	case unsigned:
		return types.Uint(v.num)
	case double:
		return types.Double(math.Float64frombits(v.num))
	case text:
		return types.String(v.s)
	case object:
		return &jsonObject{r, v.s}
	case array:
		return &jsonList{r, v.s}
	}
	return types.WrapErr(errRead)
}

// jsonObject is an object as a map of CEL.
type jsonObject struct {
	r   *reader
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
	raw := o.r.find(o.raw, string(name))
	if o.r.fault != sound {
		return types.WrapErr(errRead), false
	}
	if raw == nil {
		return nil, false
	}
	return o.r.val(o.r.value(raw)), true
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
	for it := newIterator(o.r, o.raw, '{'); it.more && o.r.spend(memberBytes); it.step() {
		if _, twice := members[it.name()]; !twice {
			members[it.name()] = o.r.val(o.r.value(it.c.val))
		}
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, members)
}

// jsonList is a list of CEL.
type jsonList struct {
	r   *reader
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
			it.done()
			return l.r.val(l.r.value(it.c.val))
		}
		i--
	}
	return types.NewErr("index out of bounds: %v", index)
}

func (l *jsonList) Contains(elem ref.Val) ref.Val {
	it := newIterator(l.r, l.raw, '[')
	for ; it.more; it.step() {
		if types.Equal(l.r.val(l.r.value(it.c.val)), elem) == types.True {
			it.done()
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
	for it := newIterator(l.r, l.raw, '['); it.more && l.r.spend(memberBytes); it.step() {
		elems = append(elems, l.r.val(l.r.value(it.c.val)))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elems)
}

func size(r *reader, raw []byte, bracket byte) ref.Val {
	n := types.Int(0)
	for it := newIterator(r, raw, bracket); it.more; it.step() {
		n++
	}
	if r.fault != sound {
		return types.WrapErr(errRead)
	}
	return n
}

// fold passes the members to f one by one, until f has enough.
func fold(r *reader, raw []byte, bracket byte, f traits.Folder) {
	i := types.Int(0)
	for it := newIterator(r, raw, bracket); it.more; it.step() {
		key := ref.Val(i)
		if it.object {
			key = it.name()
		}
		if !f.FoldEntry(key, r.val(r.value(it.c.val))) {
			return
		}
		i++
	}
}

// iterator steps over the names of an object or the elements of a list. It
// counts the bytes of each step, so that no loop continues when the budget is
// spent.
type iterator struct {
	ref.Val // for methods that CEL's own iterators do not implement, either
	r       *reader
	c       cursor
	object  bool
	counted int // the position up to which c was counted
	more    bool
}

func newIterator(r *reader, raw []byte, bracket byte) *iterator {
	it := &iterator{r: r, object: bracket == '{'}
	var ok bool
	if it.c, ok = r.open(raw, bracket); !ok {
		it.c.bad = true
	}
	it.step()
	return it
}

// step moves to the next member. It sets more.
func (it *iterator) step() {
	it.more = it.c.next(it.object)
	it.done()
	if it.r.fault != sound {
		it.more = false
	}
}

// done counts the bytes stepped over.
func (it *iterator) done() {
	it.r.failed(&it.c)
	it.r.spend(it.c.i - it.counted)
	it.counted = it.c.i
}

// name is the name of the current member.
func (it *iterator) name() ref.Val {
	if !it.c.escaped {
		return types.String(it.c.name)
	}
	s, ok := unquote(it.c.name)
	if !ok {
		it.r.fault = max(it.r.fault, malformed)
	}
	return types.String(s)
}

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
		v = it.r.val(it.r.value(it.c.val))
	}
	it.step()
	return v
}
