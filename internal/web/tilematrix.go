package web

import (
	"math"
	"strconv"

	"github.com/catfish-index/catfish/internal/web/tile"
)

// The tile matrix set of all tiles: WebMercatorQuad of OGC 17-083r4, annex D.1. Its
// tile matrices are zooms, their rows are y from the north, their columns x.

const (
	tileMatrixSetID  = "WebMercatorQuad"
	tileMatrixSetURI = "http://www.opengis.net/def/tilematrixset/OGC/1.0/" + tileMatrixSetID
	crs3857          = "http://www.opengis.net/def/crs/EPSG/0/3857"

	// Relations of links.
	relTilingSchemes  = "http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes"
	relTilingScheme   = "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme"
	relTilesetsVector = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector"

	// earthRadius is the radius of Web Mercator's sphere, in metres.
	earthRadius = 6378137
	// cellPixels is the width of a tile in the standard's pixels, each of pixelMetres
	// on a screen.
	cellPixels, pixelMetres = 256, 0.28e-3
)

// tileMatrix is a zoom.
type tileMatrix struct {
	ID               string     `json:"id"`
	ScaleDenominator float64    `json:"scaleDenominator"`
	CellSize         float64    `json:"cellSize"` // metres
	CornerOfOrigin   string     `json:"cornerOfOrigin"`
	PointOfOrigin    [2]float64 `json:"pointOfOrigin"`
	TileWidth        int        `json:"tileWidth"`
	TileHeight       int        `json:"tileHeight"`
	MatrixWidth      int        `json:"matrixWidth"`
	MatrixHeight     int        `json:"matrixHeight"`
}

// tileMatrices are all zooms.
func tileMatrices() (all []tileMatrix) {
	const half = math.Pi * earthRadius
	for z := range tile.MaxZoom + 1 {
		n := 1 << z
		size := 2 * half / cellPixels / float64(n)
		all = append(all, tileMatrix{
			strconv.Itoa(z), size / pixelMetres, size, "topLeft", [2]float64{-half, half}, cellPixels, cellPixels, n, n,
		})
	}
	return all
}

// tileMatrixSets answers with the list of the only tile matrix set.
func (q *request) tileMatrixSets() error {
	return q.sendDocument("Tile matrix sets", []string{"tileMatrixSets"}, nil, func(links []link) object {
		return object{"links": links, "tileMatrixSets": []object{{
			"id": tileMatrixSetID, "title": tileMatrixSetTitle, "uri": tileMatrixSetURI, "crs": crs3857,
			"links": []link{{q.at("", "tileMatrixSets", tileMatrixSetID), "self", typeJSON, "the tile matrix set"}},
		}}}
	})
}

const tileMatrixSetTitle = "Google Maps Compatible for the World"

func (q *request) tileMatrixSet() error {
	up := []crumb{{q.at("f=html", "tileMatrixSets"), "Tile matrix sets"}}
	return q.sendDocument(tileMatrixSetID, []string{"tileMatrixSets", tileMatrixSetID}, up, func([]link) object {
		return object{
			"id": tileMatrixSetID, "title": tileMatrixSetTitle, "uri": tileMatrixSetURI, "crs": crs3857,
			"orderedAxes": []string{"X", "Y"}, "wellKnownScaleSet": "http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible",
			"tileMatrices": tileMatrices(),
		}
	})
}

// sendDocument answers with the document of a path, as JSON or as a page that shows it.
func (q *request) sendDocument(title string, path []string, up []crumb, document func(links []link) object) error {
	html, err := q.html(typeJSON)
	if err != nil {
		return err
	}
	if err := q.params.end("f"); err != nil {
		return err
	}
	links := q.selfAndAlternate(html, typeJSON, path...)
	d := document(links)
	if !html {
		return q.sendJSON(typeJSON, d)
	}
	b, err := marshalIndent(d)
	if err != nil {
		return err
	}
	return q.sendHTML("text", view{Title: title, Data: string(b), Links: links, Up: up})
}
