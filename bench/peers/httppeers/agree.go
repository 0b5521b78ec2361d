//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/maptile"

	"github.com/catfish-index/catfish/internal/places"
)

// errWrong is wrapped when a peer's answer does not match the places.
var errWrong = errors.New("wrong answer")

// errMalformed is wrapped when a tile violates the specification.
var errMalformed = errors.New("malformed")

// get returns the body of an answer.
func get(ctx context.Context, addr, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "identity") // as for wrk
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("%w: %s: %s: %.500s", errFailed, path, res.Status, body)
	}
	return body, err
}

// checkItems compares an answer with the points that are in the box: their ids,
// positions and properties.
func checkItems(body []byte, want []places.Place) error {
	type feature struct {
		ID       string `json:"id"`
		Geometry struct {
			Type        string    `json:"type"`
			Coordinates []float64 `json:"coordinates"`
		} `json:"geometry"`
		Properties map[string]any `json:"properties"`
	}
	var got struct {
		Features       []feature `json:"features"`
		NumberReturned *int      `json:"numberReturned"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("%w: %w: %.500s", errWrong, err, body)
	}
	if got.NumberReturned == nil || *got.NumberReturned != len(got.Features) {
		return fmt.Errorf("%w: numberReturned is not %d: %.500s", errWrong, len(got.Features), body)
	}
	byID := map[string]feature{}
	for _, f := range got.Features {
		byID[f.ID] = f
	}
	for i := range want {
		p := &want[i]
		f, ok := byID[p.ID]
		if !ok {
			return fmt.Errorf("%w: %s is missing among %d places, want %d", errWrong, p.ID, len(got.Features), len(want))
		}
		var properties map[string]any
		if err := json.Unmarshal(p.Properties, &properties); err != nil {
			return err
		}
		at := p.Geometry.(orb.Point)
		if f.Geometry.Type != "Point" || !slices.Equal(f.Geometry.Coordinates, at[:]) || !reflect.DeepEqual(f.Properties, properties) {
			return fmt.Errorf("%w: %s is %+v, want %v %v", errWrong, p.ID, f, at, properties)
		}
		delete(byID, p.ID)
	}
	if len(byID) > 0 || len(got.Features) != len(want) {
		return fmt.Errorf("%w: %d places, want %d; too many: %q", errWrong, len(got.Features), len(want), slices.Collect(maps.Keys(byID)))
	}
	return nil
}

// wholeZoom is the least zoom at which a tile must have each point: at lower
// ones a server may leave some out.
const wholeZoom = 14

// inner is the margin at a tile's edge for rounding, as a part of its width.
const inner = 1.0 / 256

// checkTile decodes a tile, and finds the points that lie in it, by their ids.
// Each server simplifies and clips lines and areas differently, so of these it
// checks only that they decode.
func checkTile(body []byte, t maptile.Tile, all []places.Place) (features int, err error) {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errWrong, err)
		}
		if body, err = io.ReadAll(z); err != nil {
			return 0, fmt.Errorf("%w: %w", errWrong, err)
		}
	}
	layers, err := mvt.Unmarshal(body)
	if err != nil {
		return 0, fmt.Errorf("%w: %w: tile %v: %w", errWrong, errMalformed, t, err)
	}
	ids := map[string]bool{}
	for _, l := range layers {
		features += len(l.Features)
		for _, f := range l.Features {
			id, _ := f.Properties["id"].(string)
			ids[id] = true
		}
	}
	if t.Z < wholeZoom {
		return features, nil
	}
	for i := range all {
		at, ok := all[i].Geometry.(orb.Point)
		if !ok {
			continue
		}
		in := maptile.Fraction(at, t.Z)
		x, y := in[0]-float64(t.X), in[1]-float64(t.Y)
		if x > inner && x < 1-inner && y > inner && y < 1-inner && !ids[all[i].ID] {
			return features, fmt.Errorf("%w: tile %v has no point %s", errWrong, t, all[i].ID)
		}
	}
	return features, nil
}
