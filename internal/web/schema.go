package web

import (
	"slices"
	"strings"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

type object = map[string]any

// described returns the request's collection, its description, and whether HTML is wanted.
func (q *request) described() (c whole.Collection, d store.Description, html bool, err error) {
	if c, err = q.find(access.Read); err != nil {
		return c, d, html, err
	}
	if html, err = q.html(typeSchema, typeJSON); err != nil {
		return c, d, html, err
	}
	if err = q.params.end("f"); err != nil {
		return c, d, html, err
	}
	d, err = c.Schema(q.ctx)
	return c, d, html, err
}

// schema answers with a JSON Schema of the collection's features as they are at this
// moment: a collection has no other schema.
func (q *request) schema() error {
	c, d, html, err := q.described()
	if err != nil {
		return err
	}
	return q.sendSchema(c, html, "schema", schemaOf(&d))
}

func schemaOf(d *store.Description) object {
	properties := object{"type": "object", "properties": propertiesOf(d)}
	if d.NullProperties > 0 {
		properties["type"] = []string{"object", "null"}
	}
	return object{
		"$schema": draft,
		"title":   d.Name, "type": "object", "required": []string{"type", "geometry", "properties"},
		"properties": object{
			"type":       object{"const": "Feature"},
			"id":         object{"type": "string", "minLength": 1, "maxLength": feature.MaxIDBytes},
			"geometry":   geometriesOf(d),
			"properties": properties,
		},
	}
}

// queryables answers with the names that filters may use: the properties, and the
// geometry.
func (q *request) queryables() error {
	c, d, html, err := q.described()
	if err != nil {
		return err
	}
	properties := propertiesOf(&d)
	properties["geometry"] = object{"format": "geometry-any", "x-ogc-role": "primary-geometry"}
	return q.sendSchema(c, html, "queryables", object{
		"$schema": draft, "title": d.Name, "type": "object", "properties": properties, "additionalProperties": d.MoreProperties,
	})
}

// sendSchema writes a JSON Schema of a collection; name is its name in the path.
func (q *request) sendSchema(c whole.Collection, html bool, name string, s object) error {
	s["$id"] = q.at("", "collections", c.Name(), name)
	if !html {
		return q.sendJSON(typeSchema, s)
	}
	b, err := marshalIndent(s)
	if err != nil {
		return err
	}
	return q.sendHTML("text", view{
		Title: strings.ToUpper(name[:1]) + name[1:] + " of " + c.Name(), Data: string(b),
		Links: q.selfAndAlternate(true, typeSchema, "collections", c.Name(), name),
		Up:    []crumb{{q.at("f=html", "collections"), "Collections"}, {q.at("f=html", "collections", c.Name()), c.Name()}},
	})
}

const draft = "https://json-schema.org/draft/2020-12/schema"

func propertiesOf(d *store.Description) object {
	properties := object{}
	for _, p := range d.Properties {
		properties[p.Name] = typesOf(&p)
	}
	return properties
}

// typesOf is the schema of a property's values.
func typesOf(p *store.PropertySchema) object {
	var types []string
	for t, n := range p.Types {
		if n > 0 {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	if len(types) == 1 {
		return object{"type": types[0]}
	}
	return object{"type": types}
}

// geometriesOf is the schema of the collection's geometries.
func geometriesOf(d *store.Description) object {
	var of []object
	for _, g := range d.Geometries {
		if g.Type == feature.None.String() || g.Features == 0 {
			continue
		}
		of = append(of, object{"$ref": "https://geojson.org/schema/" + g.Type + ".json"})
	}
	return object{"oneOf": append(of, object{"type": "null"})}
}
