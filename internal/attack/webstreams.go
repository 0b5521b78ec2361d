package attack

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

var httpStreams = Attack{
	Name: "http-streams", shows: "streams", web: true,
	What: "event streams of the whole world up to the limit and beyond, none of which is read, while features are written",
	run: func(ctx context.Context, e *Enemy) error {
		if err := e.litter(ctx); err != nil { // Then there are the properties of the filter.
			return err
		}
		go func() {
			for ctx.Err() == nil && e.litter(ctx) == nil {
				e.count("written", 1)
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
