package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
)

// placesAPI is what a warden needs for its features: *catfish.Features
// implements it, and so does HTTP.
type placesAPI interface {
	Put(ctx context.Context, place catfish.Feature, cond kv.Condition) (id string, revision uint64, err error)
	Delete(ctx context.Context, id string, cond kv.Condition) (revision uint64, err error)
	Get(ctx context.Context, id string) (catfish.Feature, error)
	Search(ctx context.Context, q catfish.FeatureQuery) iter.Seq2[catfish.Feature, error]
	Nearest(ctx context.Context, q catfish.NearestQuery) iter.Seq2[catfish.Feature, error]
}

// webPlaces are the honest features over HTTP/2.
type webPlaces struct {
	base   string // of the collection
	c      *http.Client
	prefix string // of the features that Search finds
}

// newWebWarden returns an honest client of features over HTTP.
func newWebWarden(t Target) *honest {
	tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: t.tls("h2")}
	p := &webPlaces{base: "https://" + t.HTTP + "/collections/" + featuresName, c: &http.Client{Transport: tr}}
	w := newWarden(p)
	p.prefix = w.prefix
	return &honest{name: "features, HTTP/2", ask: w.ask, close: tr.CloseIdleConnections}
}

// webFeature is a feature as GeoJSON. All honest ones are points.
type webFeature struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Geometry struct {
		Type        string    `json:"type"`
		Coordinates orb.Point `json:"coordinates"`
	} `json:"geometry"`
	Properties json.RawMessage `json:"properties"`
	Distance   float64         `json:"distance,omitempty"`
}

func (p *webPlaces) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/geo+json")
	}
	res, err := p.c.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s", kv.ErrNotFound, b)
	case res.StatusCode >= http.StatusMultipleChoices:
		return nil, fmt.Errorf("attack: %s %s: %s: %s", method, path, res.Status, b)
	}
	return b, nil
}

func (p *webPlaces) Put(ctx context.Context, f catfish.Feature, _ kv.Condition) (string, uint64, error) {
	g := webFeature{Type: "Feature", ID: f.ID, Properties: f.Properties}
	g.Geometry.Type, g.Geometry.Coordinates = "Point", f.Geometry.(orb.Point)
	b, err := json.Marshal(g)
	if err == nil {
		_, err = p.do(ctx, http.MethodPut, "/items/"+f.ID, b)
	}
	return f.ID, 0, err
}

func (p *webPlaces) Delete(ctx context.Context, id string, _ kv.Condition) (uint64, error) {
	_, err := p.do(ctx, http.MethodDelete, "/items/"+id, nil)
	return 0, err
}

func (p *webPlaces) Get(ctx context.Context, id string) (catfish.Feature, error) {
	b, err := p.do(ctx, http.MethodGet, "/items/"+id, nil)
	if err != nil {
		return catfish.Feature{}, err
	}
	var f webFeature
	err = json.Unmarshal(b, &f)
	return catfish.Feature{ID: f.ID, Geometry: f.Geometry.Coordinates}, err
}

func (p *webPlaces) Search(ctx context.Context, _ catfish.FeatureQuery) iter.Seq2[catfish.Feature, error] {
	return p.page(ctx, "/items?limit=10000&bbox=177,-1,-177,3", p.prefix)
}

func (p *webPlaces) Nearest(ctx context.Context, q catfish.NearestQuery) iter.Seq2[catfish.Feature, error] {
	return p.page(ctx, fmt.Sprintf("/nearest?point=%v,%v&limit=%d&max=%.0f", q.X, q.Y, q.K, q.Within), "")
}

// page yields the features of a page with a prefix.
func (p *webPlaces) page(ctx context.Context, path, prefix string) iter.Seq2[catfish.Feature, error] {
	return func(yield func(catfish.Feature, error) bool) {
		var doc struct{ Features []webFeature }
		b, err := p.do(ctx, http.MethodGet, path, nil)
		if err == nil {
			err = json.Unmarshal(b, &doc)
		}
		if err != nil {
			yield(catfish.Feature{}, err)
			return
		}
		for _, f := range doc.Features {
			if strings.HasPrefix(f.ID, prefix) && !yield(catfish.Feature{ID: f.ID, Geometry: f.Geometry.Coordinates, Distance: f.Distance}, nil) {
				return
			}
		}
	}
}
