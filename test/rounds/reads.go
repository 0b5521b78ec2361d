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
	"time"

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
			u.get(ctx, c, path, c.r.IntN(u.job.Keys))
		} else {
			u.search(ctx, c, path)
		}
	}
}

func (u *users) get(ctx context.Context, c *caller, path string, key int) {
	o := Op{KeyOp: history.KeyOp{Client: c.number, Key: key, Call: clock(), Read: true}, Path: path}
	f, err := u.keys(path).Get(ctx, keyID(key))
	o.End = clock()
	if err == nil {
		o.Value, err = numberOf(f.Properties)
	}
	if err != nil && !errors.Is(err, catfish.ErrNotFound) {
		u.out <- Said{Failure: &Failure{path, o.End, err.Error()}}
		return
	}
	u.out <- Said{Op: &o}
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

// lastID is of the write after which no event is awaited.
func (u *users) lastID() string { return fmt.Sprintf("last%d", u.job.Number) }

// watch hands on the events of all keys, until the last one.
func (u *users) watch(ctx context.Context) {
	stood := false
	q := catfish.WatchQuery{Query: catfish.FeatureQuery{Area: catfish.Box(-1, -1, 1, 1)}, Progress: true}
	for e, err := range u.keys(pathWrite).Watch(ctx, q) {
		if err != nil {
			if ctx.Err() == nil {
				u.out <- Said{Broken: "watching: " + err.Error()}
			}
			break
		}
		if !stood {
			stood = true
			u.out <- Said{Event: &Event{Key: standing, Revision: e.Resume}}
			close(u.stands)
		}
		if e.Kind == catfish.Progress {
			continue
		}
		x := Event{Revision: e.Revision, Key: lastWrite}
		if _, err := fmt.Sscanf(e.ID, "k%d", &x.Key); err == nil && e.Kind != catfish.Exit {
			x.Value, _ = numberOf(e.Feature.Properties) // 0 is no value.
		}
		u.out <- Said{Event: &x}
		if e.ID == u.lastID() {
			close(u.last)
			break
		}
	}
	if !stood {
		close(u.stands)
	}
}

// end waits for the last event.
func (u *users) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for {
		_, _, err := u.keys(pathWrite).Put(ctx, value(u.lastID(), u.number()), catfish.Condition{})
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			u.out <- Said{Broken: "the last write is not made: " + err.Error()}
			return
		}
	}
	select {
	case <-u.last:
	case <-time.After(callTime):
		u.out <- Said{Broken: fmt.Sprintf("the watcher has not got the last event in %v", callTime)}
	}
}
