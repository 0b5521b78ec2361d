package attack

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/catfish-index/catfish/catfish"
)

var httpStreams = Attack{
	Name: "http-streams", shows: "streams", web: true,
	What:    "event streams of the whole world up to the limit and beyond, none of which is read, while features are written",
	prepare: litter, // The features have the properties of the filter.
	run: func(ctx context.Context, e *Enemy) error {
		go func() {
			for ctx.Err() == nil {
				if e.writeLitter(ctx) != nil {
					e.count("writes refused", 1)
				}
			}
		}()
		return e.each(ctx, e.size(3000, 20), func(ctx context.Context, i int) error {
			c, err := e.dialHTTP(ctx, i, "http/1.1")
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, webRequest("GET", webPath+"/events?filter="+url.QueryEscape("NOT n < 0 OR text LIKE '%x%'"))); err != nil {
				return err
			}
			res, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				e.count("refused", 1)
				return errors.New("refused")
			}
			e.count("streams", 1)
			pause(ctx, unreadTime)
			return nil
		})
	},
}

// litterPause is the pause between writes of 256 features, so there are some 1000 a
// second: the measurement shows the cost of streams, not of a client that writes as fast
// as possible.
const litterPause = 256 * time.Millisecond

// writeLitter moves features of the litter, until it fails.
func (e *Enemy) writeLitter(ctx context.Context) error {
	c, f, err := e.features(ctx, "shm")
	if err != nil {
		return err
	}
	defer c.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for n := 0; ; {
		some := make([]catfish.Feature, 256)
		for i := range some {
			some[i] = litterFeature(r, n%e.size(littered, smallLittered))
			n++
		}
		if _, err := f.PutMany(ctx, some); err != nil {
			return err
		}
		e.count("written", len(some))
		pause(ctx, litterPause)
	}
}
