package web

import (
	"slices"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// conformsTo are the conformance classes of this server.
var conformsTo = []string{
	"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
	"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/oas30",
	"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/html",
	"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson",
	"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/queryables",
	"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/queryables-query-parameters",
	"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/filter",
	"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/features-filter",
	"http://www.opengis.net/spec/cql2/1.0/conf/cql2-text",
	"http://www.opengis.net/spec/cql2/1.0/conf/cql2-json",
	"http://www.opengis.net/spec/cql2/1.0/conf/basic-cql2",
	"http://www.opengis.net/spec/cql2/1.0/conf/advanced-comparison-operators",
	"http://www.opengis.net/spec/cql2/1.0/conf/case-insensitive-comparison",
	"http://www.opengis.net/spec/cql2/1.0/conf/basic-spatial-functions",
	"http://www.opengis.net/spec/cql2/1.0/conf/temporal-functions",
	"http://www.opengis.net/spec/cql2/1.0/conf/property-property",
	"http://www.opengis.net/spec/ogcapi-features-4/1.0/conf/create-replace-delete",
	"http://www.opengis.net/spec/ogcapi-features-4/1.0/conf/update",
	"http://www.opengis.net/spec/ogcapi-features-4/1.0/conf/optimistic-locking-etags",
	"http://www.opengis.net/spec/ogcapi-features-4/1.0/conf/features",
	"http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/core",
	"http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/tileset",
	"http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/tilesets-list",
	"http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/geodata-tilesets",
	"http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/oas30",
	"http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/mvt",
}

// landing answers with the landing page: a browser gets the map, unless it asks for the
// plain page.
func (q *request) landing() error {
	html, err := q.html(typeJSON)
	if err != nil {
		return err
	}
	if err := q.params.end("f"); err != nil {
		return err
	}
	if html && len(q.params.all) == 0 {
		return q.mapPage()
	}
	links := append(q.selfAndAlternate(html, typeJSON),
		link{q.at("f=json", "api"), "service-desc", typeOpenAPI, "the API, as OpenAPI 3.0"},
		link{q.at("f=html", "api"), "service-doc", typeHTML, "the API, for people"},
		link{q.at("", "conformance"), "conformance", typeJSON, "what of OGC API is here"},
		link{q.at("", "collections"), "data", typeJSON, "the collections"},
		link{q.at("", "tileMatrixSets"), relTilingSchemes, typeJSON, "the tile matrix sets"})
	if html {
		return q.sendHTML("landing", view{Title: q.o.Title, Text: q.o.Description, Links: links})
	}
	return q.sendJSON(typeJSON, struct {
		Title       string `json:"title"`
		Description string `json:"description,omitempty"`
		Links       []link `json:"links"`
	}{q.o.Title, q.o.Description, links})
}

func (q *request) conformance() error {
	html, err := q.html(typeJSON)
	if err != nil {
		return err
	}
	if err := q.params.end("f"); err != nil {
		return err
	}
	if html {
		return q.sendHTML("conformance", view{
			Title: "Conformance", Links: q.selfAndAlternate(true, typeJSON, "conformance"), Data: conformsTo,
		})
	}
	return q.sendJSON(typeJSON, map[string]any{"conformsTo": conformsTo})
}

// about is the standard's description of a collection.
type about struct {
	ID          string   `json:"id"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Extent      *extent  `json:"extent,omitempty"`
	ItemType    string   `json:"itemType"`
	CRS         []string `json:"crs"`
	Links       []link   `json:"links"`
	Count       int      `json:"itemCount"` // not in the standard
}

type extent struct {
	Spatial spatial `json:"spatial"`
}

type spatial struct {
	BBox [][4]float64 `json:"bbox"`
	CRS  string       `json:"crs"`
}

// crs84 is WGS 84 longitude and latitude.
const crs84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"

// aboutOf describes a collection.
func (q *request) aboutOf(c whole.Collection) (about, store.Description, error) {
	d, err := c.Describe(q.ctx)
	if err != nil {
		return about{}, d, err
	}
	name := c.Name()
	a := about{
		ID: name, Title: d.Title, Description: d.Description, ItemType: "feature", CRS: []string{crs84}, Count: d.Features,
		Links: []link{
			{q.at("", "collections", name, "items"), "items", typeGeoJSON, "its features"},
			{q.at("f=html", "collections", name, "items"), "items", typeHTML, "its features, as a page"},
			{q.at("", "collections", name, "schema"), "describedby", typeSchema, "JSON Schema of its features"},
			{q.at("", "collections", name, "queryables"), "http://www.opengis.net/def/rel/ogc/1.0/queryables", typeSchema, "what filters may be about"},
			{q.at("", "collections", name, "tiles"), relTilesetsVector, typeJSON, "its vector tiles"},
			{q.at("", "collections", name, "events"), "monitor", typeEvents, "what is written to it"},
			{q.at("point=0,0", "collections", name, "nearest"), "related", typeGeoJSON, "its features nearest to a point"},
			{q.at("zoom=0", "collections", name, "counts"), "related", typeGeoJSON, "how many features there are in each cell of a zoom"},
		},
	}
	if firstPageMisleads(&d) {
		a.Links = append(a.Links, link{q.at("", "collections", name, "schema"), "describedBy", typeSchema, "JSON Schema of its features"})
	}
	if d.Extent != nil {
		box := *d.Extent
		for i := range box {
			box[i] += 0 // not -0
		}
		a.Extent = &extent{spatial{[][4]float64{box}, crs84}}
	}
	return a, d, nil
}

// firstPageMisleads reports whether GDAL should take the properties from the schema. By
// default GDAL takes the properties of the first page, and drops all others. It reads
// the schema (3.6, at least) if a link has the relation of the standard's drafts,
// describedBy with a capital letter. But it learns the type of a number or boolean that
// may be null, or of a whole number, from features only.
func firstPageMisleads(d *store.Description) bool {
	sparse := false
	for _, p := range d.Properties {
		sparse = sparse || p.Features < d.Features
		if p.Types["null"] > 0 && p.Types["number"]+p.Types["boolean"] > 0 {
			return false
		}
	}
	return sparse
}

// served are the collections that the request's key may read, by name.
func (q *request) served() ([]whole.Collection, error) {
	st, err := q.ready()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(st.Collections(), func(c whole.Collection) bool {
		return c.Options().Space != feature.Geographic || q.may(c.Name(), access.Read) != nil
	}), nil
}

func (q *request) collections() error {
	html, err := q.html(typeJSON)
	if err != nil {
		return err
	}
	if err := q.params.end("f"); err != nil {
		return err
	}
	served, err := q.served()
	if err != nil {
		return err
	}
	all := []about{}
	p := &limits.Pacer{Of: q.host, Ctx: q.ctx, Source: q.source}
	defer p.End()
	for i, c := range served {
		if i > 0 && !c.Several() { // One description takes up to a millisecond.
			if err := p.Pause(); err != nil {
				return err
			}
		}
		if err := q.hold(&q.holds.answer, q.holds.answer+aboutBytes); err != nil {
			return err
		}
		a, _, err := q.aboutOf(c)
		if err != nil {
			continue // The collection was dropped meanwhile.
		}
		a.Links = append(a.Links, link{q.at("", "collections", a.ID), "self", typeJSON, "the collection"})
		all = append(all, a)
	}
	p.End()
	links := q.selfAndAlternate(html, typeJSON, "collections")
	if html {
		return q.sendHTML("collections", view{Title: "Collections", Links: links, Data: all})
	}
	return q.sendJSON(typeJSON, struct {
		Links       []link  `json:"links"`
		Collections []about `json:"collections"`
	}{links, all})
}

// aboutBytes is the size of a description whose title and description are as long as
// package api allows.
const aboutBytes = 2*api.MaxTextBytes + 4<<10

func (q *request) collection() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	html, err := q.html(typeJSON)
	if err != nil {
		return err
	}
	if err := q.params.end("f"); err != nil {
		return err
	}
	a, d, err := q.aboutOf(c)
	if err != nil {
		return err
	}
	a.Links = append(q.selfAndAlternate(html, typeJSON, "collections", c.Name()), a.Links...)
	if html {
		title := a.Title
		if title == "" {
			title = a.ID
		}
		return q.sendHTML("collection", view{Title: title, Text: a.Description, Links: a.Links,
			Data: collectionView{a, d}, Up: []crumb{{q.at("f=html", "collections"), "Collections"}}})
	}
	return q.sendJSON(typeJSON, a)
}

type collectionView struct {
	About       about
	Description store.Description
}
