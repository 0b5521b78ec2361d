package attack

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
)

var httpCostly = Attack{
	Name: "http-costly", shows: "begun", web: true, Slow: true,
	What:    "filters that look at everything and find nothing: pages, counts, tiles and the nearest; some that do not compile",
	prepare: litter,
	run: func(ctx context.Context, e *Enemy) error {
		filters := costlyFilters()
		return e.each(ctx, e.size(32, 4), func(ctx context.Context, i int) error {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: e.host(i)}}
			tr := &http.Transport{DialContext: d.DialContext, TLSClientConfig: e.target.tls(), DisableKeepAlives: i%2 == 0}
			defer tr.CloseIdleConnections()
			for ctx.Err() == nil {
				path := costlyPaths[rand.IntN(len(costlyPaths))]
				// Each is a different one, which must be compiled.
				filter := fmt.Sprintf("(%s) AND n <> %d", filters[rand.IntN(len(filters))], -1-rand.IntN(1e6))
				if err := e.askWeb(ctx, tr, path+"filter="+url.QueryEscape(filter)); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

// costlyPaths are the requested paths, for all of the south.
var costlyPaths = []string{
	"/items?limit=1&", "/items?limit=10000&numberMatched=false&bbox=-180,-80,180,-10&", "/nearest?point=0,-80&limit=10000&",
	"/counts?zoom=6&", "/tiles/1/0/1.mvt?",
}

// costlyFilters take 1 to 50 us a feature, and no feature passes; the last one takes
// long to be refused.
func costlyFilters() []string {
	star := make([]string, 0, 1001)
	for i := range 1000 {
		a, r := 2*math.Pi*float64(i)/1000, 20+10*float64(i%2)
		star = append(star, fmt.Sprintf("%.4f %.4f", r*math.Cos(a), south-40+r*math.Sin(a)))
	}
	star = append(star, star[0])
	const world = "(-180 -89,180 -89,180 -9,-180 -9,-180 -89)"
	return []string{
		"text LIKE '%1%2%3%4%5%x' OR n < 0", strings.Repeat("n < 0 OR ", 60) + "n < 0",
		"NOT S_INTERSECTS(geometry, POLYGON(" + world + ")) AND n < 0",
		"S_WITHIN(geometry, POLYGON((" + strings.Join(star, ",") + "))) AND n < 0",
		strings.Repeat("text LIKE '%1%2%3%4%5%x' OR ", 60) + "n < 0",
	}
}

// askWeb asks for a page of the attacked collection, and takes the answer.
func (e *Enemy) askWeb(ctx context.Context, tr *http.Transport, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+e.target.HTTP+webPath+path, http.NoBody)
	if err != nil {
		return err
	}
	e.count("begun", 1)
	res, err := tr.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	e.count(fmt.Sprint("status ", res.StatusCode), 1)
	return nil
}
