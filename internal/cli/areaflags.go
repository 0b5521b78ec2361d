package cli

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/paulmach/orb"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// areaFlags say which features are wanted. A command that also searches boxes registers
// --bbox itself.
type areaFlags struct {
	bbox, near, circle, within, relation, filter string
	radius                                       float64
	flags                                        *pflag.FlagSet
}

// areaFlagNames are the flags that only apply to features.
var areaFlagNames = []string{"near", "radius", "circle", "within", "relation", "filter"}

var relations = []string{"intersects", "within", "contains"}

func (f *areaFlags) register(c *cobra.Command) {
	fs := c.Flags()
	f.flags = fs
	fs.StringVar(&f.near, "near", "", "features: lon,lat of a circle's centre, with --radius")
	fs.Float64Var(&f.radius, "radius", 0, "features: metres around --near; of planar collections their unit")
	fs.StringVar(&f.circle, "circle", "", "features: lon,lat,radius: --near and --radius in one")
	fs.StringVar(&f.within, "within", "", "features: GeoJSON file that has the area, a polygon or several (or --polygon)")
	fs.StringVar(&f.relation, "relation", "intersects", "features: what must hold of them and the area: intersects, within or contains it")
	fs.StringVar(&f.filter, "filter", "", `features: condition, such as 'properties.kind == "cafe" && properties.seats > 20'`)
	Complete(c, "relation", relations...)
	_ = c.MarkFlagFilename("within", "geojson", "json") // fails only for an unknown flag
}

// used reports whether one of these flags was typed.
func (f *areaFlags) used() bool { return slices.ContainsFunc(areaFlagNames, f.flags.Changed) }

// query returns the requested query.
func (f *areaFlags) query() (q catfish.FeatureQuery, err error) {
	q.Filter = f.filter
	r := slices.Index(relations, f.relation)
	if r < 0 {
		return q, BadUsage("--relation is %q, want %s", f.relation, strings.Join(relations, ", "))
	}
	q.Relation = []feature.Relation{feature.Intersects, feature.Within, feature.Contains}[r]
	if q.Area, err = f.area(); err != nil {
		return q, err
	}
	if q.Area == nil && f.flags.Changed("relation") {
		return q, BadUsage("--relation does nothing without an area")
	}
	return q, nil
}

// area returns the given area, nil if none.
func (f *areaFlags) area() (*store.Area, error) {
	var given []string
	for _, name := range []string{"bbox", "near", "circle", "within"} {
		if f.flags.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return nil, BadUsage("%s are %d areas, want one", strings.Join(given, " and "), len(given))
	}
	if f.flags.Changed("radius") && f.near == "" {
		return nil, BadUsage("--radius goes with --near lon,lat")
	}
	switch {
	case f.flags.Changed("bbox"):
		v, err := parseNumbers("bbox", f.bbox, 4, "west,south,east,north")
		if err != nil {
			return nil, err
		}
		return query.Box(v[0], v[1], v[2], v[3]), nil
	case f.flags.Changed("near"):
		v, err := parseNumbers("near", f.near, 2, "lon,lat")
		if err != nil {
			return nil, err
		}
		if !f.flags.Changed("radius") {
			return nil, BadUsage("--radius is missing, want metres around --near")
		}
		return circle("radius", v[0], v[1], f.radius)
	case f.flags.Changed("circle"):
		v, err := parseNumbers("circle", f.circle, 3, "lon,lat,radius")
		if err != nil {
			return nil, err
		}
		return circle("circle", v[0], v[1], v[2])
	case f.flags.Changed("within"):
		return readArea(f.within)
	}
	return nil, nil
}

func circle(flag string, x, y, radius float64) (*store.Area, error) {
	if !(radius >= 0) || math.IsInf(radius, 0) {
		return nil, BadUsage("--%s: radius %v, want a finite number, 0 or more", flag, radius)
	}
	return query.Circle(x, y, radius), nil
}

// maxAreaBytes bounds the file of an area: an outline in full resolution.
const maxAreaBytes = 64 << 20

// readArea reads the polygons of all features of a file.
func readArea(path string) (*store.Area, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("--within: %w", err)
	}
	if info.Size() > maxAreaBytes {
		return nil, BadUsage("--within %s has %d bytes, want at most %d", path, info.Size(), maxAreaBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--within: %w", err)
	}
	r, err := places.NewReader(bytes.NewReader(text), path, places.Options{Strict: true, Format: places.GeoJSON})
	if err != nil {
		return nil, usageError{fmt.Errorf("--within: %w", err)}
	}
	defer r.Close()
	var all orb.MultiPolygon
	for p, err := range r.All() {
		if err != nil {
			return nil, usageError{fmt.Errorf("--within: %w", err)}
		}
		switch g := p.Geometry.(type) {
		case orb.Polygon:
			all = append(all, g)
		case orb.MultiPolygon:
			all = append(all, g...)
		case nil:
			return nil, BadUsage("--within %s: a feature without a geometry, want polygons", path)
		default:
			return nil, BadUsage("--within %s: a %s, want polygons", path, g.GeoJSONType())
		}
	}
	switch len(all) {
	case 0:
		return nil, BadUsage("--within %s has no polygon", path)
	case 1:
		return query.Polygon(all[0]), nil
	}
	return query.Polygon(all), nil
}
