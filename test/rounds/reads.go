//go:build linux

package rounds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/history"
)

// numberOf reads the value of a key from the properties of its feature.
func numberOf(properties []byte) (uint64, error) {
	var p struct {
		N string `json:"n"`
	}
	if err := json.Unmarshal(properties, &p); err != nil {
		return 0, fmt.Errorf("rounds: properties %q: %w", properties, err)
	}
	return strconv.ParseUint(p.N, 10, 64)
}

// readBy reads a key, or all, by a path of the Go client.
func (u *users) readBy(path string) func(context.Context, *caller) {
	return func(ctx context.Context, c *caller) {
		if c.r.IntN(2) == 0 {
			u.get(ctx, c, path, c.r.IntN(u.job.all()))
		} else {
			u.search(ctx, c, path)
		}
	}
}

func (u *users) get(ctx context.Context, c *caller, path string, key int) {
	o := Op{KeyOp: history.KeyOp{Client: c.number, Key: key, Call: clock(), Read: true}, Path: path}
	var err error
	o.Value, err = u.read(ctx, path, key)
	o.End = clock()
	if err != nil {
		u.out <- Said{Failure: &Failure{path, o.End, err.Error()}}
		return
	}
	u.out <- Said{Op: &o}
}

// read reads a key by its id; 0: there is none.
func (u *users) read(ctx context.Context, path string, key int) (uint64, error) {
	if key >= u.job.Keys {
		return u.readRecord(ctx, path, key)
	}
	f, err := u.keys(path).Get(ctx, keyID(key))
	switch {
	case errors.Is(err, catfish.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return numberOf(f.Properties)
}

// search reads all keys, each of which it must see as it was at a moment of the search.
func (u *users) search(ctx context.Context, c *caller, path string) {
	call, seen := clock(), map[string]uint64{}
	for f, err := range u.keys(path).Search(ctx, catfish.FeatureQuery{Area: catfish.Box(-1, -1, 1, 1)}) {
		if err == nil {
			if _, twice := seen[f.ID]; twice {
				u.out <- Said{Broken: fmt.Sprintf("a search by path %s found %s twice", path, f.ID)}
			}
			seen[f.ID], err = numberOf(f.Properties)
		}
		if err != nil {
			u.out <- Said{Failure: &Failure{path, clock(), err.Error()}}
			return
		}
	}
	end := clock()
	for key := range u.job.Keys {
		u.out <- Said{Op: &Op{KeyOp: history.KeyOp{Client: c.number, Key: key, Call: call, End: end, Read: true, Value: seen[keyID(key)]}, Path: path, Area: true}}
	}
}

// readHTTP reads a key at some member. That which the clients take for the primary is asked
// half of the times.
func (u *users) readHTTP(ctx context.Context, c *caller) {
	s := u.job.Servers[c.r.IntN(len(u.job.Servers))]
	at := u.clients[pathMessage].Info().Addr
	if i := slices.IndexFunc(u.job.Servers, func(s Server) bool { return s.Addr == at }); i >= 0 && c.r.IntN(2) == 0 {
		s = u.job.Servers[i]
	}
	o := Op{KeyOp: history.KeyOp{Client: c.number, Key: c.r.IntN(u.job.Keys), Call: clock(), Read: true}, Path: pathHTTP, Member: s.Node}
	if s.Addr != at {
		o.Path = pathSecondary
	}
	var err error
	o.Value, err = u.ask(ctx, s, o.Key)
	o.End = clock()
	if err != nil {
		u.out <- Said{Failure: &Failure{o.Path, o.End, err.Error()}}
		return
	}
	u.out <- Said{Op: &o}
}

// ask reads a key over HTTP; 0: there is none.
func (u *users) ask(ctx context.Context, s Server, key int) (uint64, error) {
	url := fmt.Sprintf("http://%s/collections/%s/items/%s", s.HTTP, keysName, keyID(key))
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
	var f struct {
		Properties json.RawMessage `json:"properties"`
	}
	switch err := json.NewDecoder(a.Body).Decode(&f); {
	case a.StatusCode == http.StatusNotFound:
		return 0, nil
	case a.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("rounds: %s: %s", url, a.Status)
	case err != nil:
		return 0, fmt.Errorf("rounds: %s: %w", url, err)
	}
	return numberOf(f.Properties)
}
