package cql2

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/store"
)

// Names of properties
//
// A name is that of a property, dots and all, if features have such a one: OSM has
// "addr:city" and "fuel:octane_9.5". Else it is a path: what is before a dot is the name
// of an object, and what is behind it leads on in there. Of several names of objects the
// longest counts. What is in objects a schema does not know, so that is not checked:
//
//	addr.city      features have "addr.city"     that
//	               or objects "addr"             "city" in "addr"
//	               or neither                    an error
//
// A name below an object has no dot itself: package filter can ask for it.

// Properties are what the features of a collection have (store.Description).
type Properties struct {
	Schema []store.PropertySchema
	More   bool // there are others
}

// find is what is known of a name.
func (p *Properties) find(name string) (found, object bool) {
	i := slices.IndexFunc(p.Schema, func(s store.PropertySchema) bool { return s.Name == name })
	if i < 0 {
		return false, false
	}
	return true, p.Schema[i].Types["object"] > 0
}

// maxSteps bounds a path, as package filter does what nests.
const maxSteps = 32

// path is where the property n is: its name, or that of an object and those below.
func (t *translator) path(n *node) []string {
	if p := t.paths[n.text]; p != nil {
		return p
	}
	p := t.newPath(n)
	if t.paths == nil {
		t.paths = map[string][]string{}
	}
	t.paths[n.text] = p
	return p
}

func (t *translator) newPath(n *node) []string {
	name := n.text
	if found, _ := t.properties.find(name); found {
		return []string{name}
	}
	scalar := ""
	for at := strings.LastIndexByte(name, '.'); at > 0; at = strings.LastIndexByte(name[:at], '.') {
		found, object := t.properties.find(name[:at])
		if !object {
			if found && scalar == "" {
				scalar = name[:at]
			}
			continue
		}
		below := strings.Split(name[at+1:], ".")
		t.failUnless(len(below) < maxSteps, n, "%v has %d steps, at most %d are accepted", n, len(below)+1, maxSteps)
		t.failUnless(!slices.Contains(below, ""), n, "%v: a step of the path is empty", n)
		return append([]string{name[:at]}, below...)
	}
	if !t.properties.More {
		t.failUnless(scalar == "", n, "property %v is unknown: %.40q is no object", n, scalar)
		t.fail(n, "property %v is unknown%s: the collection's queryables have all", n, t.properties.like(name))
	}
	return []string{name}
}

// celOf is a path in the language of package filter.
func celOf(path []string) string {
	var b strings.Builder
	b.WriteString("properties")
	for _, name := range path {
		b.WriteString("[" + strconv.Quote(name) + "]")
	}
	return b.String()
}

// isNullCEL is true where there is nothing at the path, or null: also where what should
// be an object is none.
func isNullCEL(path []string) string {
	var b strings.Builder
	for i, name := range path {
		holder, own := "properties", celOf(path[:i+1])
		if i > 0 {
			holder = celOf(path[:i])
			b.WriteString("type(" + holder + ") != map || ")
		}
		b.WriteString("!(" + strconv.Quote(name) + " in " + holder + ") || ")
		if i == len(path)-1 {
			b.WriteString(own + " == null")
		}
	}
	return b.String()
}

// like names properties that a name may have been meant for: those with up to two
// letters more, less or other ones, and those that differ in case.
func (p *Properties) like(name string) string {
	best, all := 3, []string{}
	for _, s := range p.Schema {
		d := distance([]rune(strings.ToLower(s.Name)), []rune(strings.ToLower(name)), best)
		if d < best {
			best, all = d, nil
		}
		if d == best && d < 3 && 2*d <= len(name) && len(name) > 2 {
			all = append(all, fmt.Sprintf("%.40q", s.Name))
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return ", did you mean " + strings.Join(all[:min(len(all), 3)], " or ") + "?"
}

// distance is how many letters are to be put in, left out or changed to make b of a; or
// more than most.
func distance(a, b []rune, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most || len(a) > 64 {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before := row[0]
		row[0] = i + 1
		for j := range b {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
