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
	Name: "http-costly", shows: "answers", web: true, Slow: true,
	What: "filters and searches of the nearest that look at everything and find nothing, and counts of it",
	run: func(ctx context.Context, e *Enemy) error {
		if err := e.litter(ctx); err != nil {
			return err
		}
		star := make([]string, 0, 1001)
		for i := range 1000 {
			a, r := 2*math.Pi*float64(i)/1000, 20+10*float64(i%2)
			star = append(star, fmt.Sprintf("%.4f %.4f", r*math.Cos(a), south-40+r*math.Sin(a)))
		}
		star = append(star, star[0])
		world := "(-180 -89,180 -89,180 -11,-180 -11,-180 -89)"
		filters := []string{
			"text LIKE '%1%2%3%4%5%x' OR n < 0", strings.Repeat("n < 0 OR ", 60) + "n < 0",
			"NOT S_INTERSECTS(geometry, POLYGON(" + world + ")) AND n < 0",
			"S_WITHIN(geometry, POLYGON((" + strings.Join(star, ",") + "))) OR n < 0",
		}
		return e.each(ctx, e.size(32, 4), func(ctx context.Context, i int) error {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: e.host(i)}}
			tr := &http.Transport{DialContext: d.DialContext, TLSClientConfig: e.target.tls(), DisableKeepAlives: i%2 == 0}
			defer tr.CloseIdleConnections()
			for ctx.Err() == nil {
				path := []string{"/items?limit=1&", "/nearest?point=0,-80&limit=10000&"}[rand.IntN(2)] + "filter=" + url.QueryEscape(filters[rand.IntN(len(filters))])
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+e.target.HTTP+webPath+path, http.NoBody)
				if err != nil {
					return err
				}
				res, err := tr.RoundTrip(r)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil {
					return err
				}
				if e.count("answers", 1); res.StatusCode != http.StatusOK {
					e.count(fmt.Sprint("status ", res.StatusCode), 1)
				}
			}
			return nil
		})
	},
}
