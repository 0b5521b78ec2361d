package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish"
)

// answered records a read.
func (u *users) answered(path string, got, want int, err error) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err != nil:
		u.failed[path]++
	case got != want:
		u.wrong = append(u.wrong, fmt.Sprintf("by path %s: %d features, want %d", path, got, want))
	default:
		u.reads[path] = append(u.reads[path], now)
	}
}

// search reads all features of an area.
func (u *users) search(ctx context.Context, r *rand.Rand, path string) {
	a, n := u.areas[r.IntN(len(u.areas))], 0
	for _, err := range u.features(path, mapName).Search(ctx, catfish.FeatureQuery{Area: a.box()}) {
		if err != nil {
			u.answered(path, 0, 0, err)
			return
		}
		n++
	}
	u.answered(path, n, a.want, nil)
}

// get asks some member over HTTP, and the others if it does not answer.
func (u *users) get(ctx context.Context, r *rand.Rand) {
	a := u.areas[r.IntN(len(u.areas))]
	q := fmt.Sprintf("/collections/%s/items?limit=1000&bbox=%.9f,%.9f,%.9f,%.9f", mapName, a.at.X()-a.half, a.at.Y()-a.half, a.at.X()+a.half, a.at.Y()+a.half)
	var failed error
	for _, i := range r.Perm(len(u.g.first().Members)) {
		n, err := u.items(ctx, "http://"+u.g.first().Members[i].HTTP+q)
		if err == nil {
			u.answered(HTTP, n, min(a.want, 1000), nil)
			return
		}
		failed = err
	}
	u.answered(HTTP, 0, 0, failed)
}

func (u *users) items(ctx context.Context, url string) (int, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	q.Header.Set("Accept", "application/geo+json")
	a, err := u.web.Do(q)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	var all struct {
		Features []json.RawMessage `json:"features"`
	}
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 200))
		return 0, fmt.Errorf("cluster: %s: %s: %s", url, a.Status, strings.TrimSpace(string(text)))
	}
	err = json.NewDecoder(a.Body).Decode(&all)
	return len(all.Features), err
}
