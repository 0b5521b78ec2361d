package cql2

import (
	"fmt"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/internal/store"
)

// Names of properties
//
// A name is a property's name, dots included: OSM has "addr:city" and "fuel:octane_9.5".
// Or it is a path: the part before a dot names an object, and the part after the dot
// leads to a value inside the object. The choice is made for each feature, so that one
// feature changes nothing for the others: the longest prefix of the name that the
// feature has as a property wins.
//
//	a.b.c    the feature has "a.b.c"    that
//	         else "a.b"                 "c" in it
//	         else "a"                   "b" in it, and "c" in that
//
// A prefix is skipped if no feature of the collection has it, or none has it as an
// object. If all are skipped, the name is an error. A schema does not know the contents
// of objects, so they are not checked.
//
// A name inside an object has no dot here; package filter can access such names.

// Properties describes the properties of a collection's features (store.Description).
type Properties struct {
	Schema []store.PropertySchema
	More   bool // there are more than Schema has
	// Split gives an area apart (Filter.Area).
	Split bool
	// known are the paths that names have in place of those by Schema.
	known map[string]paths
}

// find looks a name up.
func (p *Properties) find(name string) (found, object bool) {
	i := slices.IndexFunc(p.Schema, func(s store.PropertySchema) bool { return s.Name == name })
	if i < 0 {
		return false, false
	}
	return true, p.Schema[i].Types["object"] > 0
}

// maxSteps bounds a path, as package filter bounds nesting.
const maxSteps = 32

// paths are the possible paths of a property: its name, or an object's name and the
// names below. The first path whose first name a feature has counts; if a feature has
// none of these names, the last path counts.
type paths [][]string

// pathsOf returns the paths of the property n.
func (t *translator) pathsOf(n *node) paths {
	if p := t.known[n.text]; p != nil {
		return p
	}
	p := t.properties.known[n.text]
	if p == nil {
		p = t.newPaths(n)
	}
	if t.known == nil {
		t.known = map[string]paths{}
	}
	t.known[n.text] = p
	return p
}

func (t *translator) newPaths(n *node) (all paths) {
	name, more := n.text, t.properties.More
	if found, _ := t.properties.find(name); found || more {
		all = paths{{name}}
	}
	scalar := ""
	for at := strings.LastIndexByte(name, '.'); at > 0; at = strings.LastIndexByte(name[:at], '.') {
		found, object := t.properties.find(name[:at])
		if !object && (found || !more) {
			if found && scalar == "" {
				scalar = name[:at]
			}
			continue
		}
		below := strings.Split(name[at+1:], ".")
		few, named := len(below) < maxSteps, !slices.Contains(below, "")
		if len(all) == 0 {
			t.failUnless(few, n, "%v has %d steps, at most %d are accepted", n, len(below)+1, maxSteps)
			t.failUnless(named, n, "%v: a step of the path is empty", n)
		}
		if few && named {
			all = append(all, append([]string{name[:at]}, below...))
		}
	}
	if len(all) == 0 {
		t.failUnless(scalar == "", n, "property %v is unknown: %.40q is no object", n, scalar)
		t.fail(n, "property %v is unknown%s: the collection's queryables have all", n, t.properties.like(name))
	}
	return all
}

// like suggests properties for a misspelt name: those at a distance of up to two
// letters, and those that differ in case.
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

// distance is the number of letters to insert, delete or replace to turn a into b, or a
// number above most.
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
