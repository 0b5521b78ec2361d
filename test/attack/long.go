package attack

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/catfish"
)

var longRequests = Attack{
	Name: "long-requests", shows: "answers", Slow: true,
	What: "nearest with the largest k, all objects, and their count, in loops over shm, soft and plain sockets",
	run: func(ctx context.Context, e *Enemy) error {
		transports := []string{"shm", "soft", "tcp"}
		return e.each(ctx, e.size(6, 3), func(ctx context.Context, i int) error {
			c, err := e.client(ctx, transports[i%len(transports)])
			if err != nil {
				return err
			}
			defer c.Close()
			for {
				for _, long := range longCalls {
					switch err := long(ctx, c); {
					case errors.Is(err, catfish.ErrTooLarge), errors.Is(err, catfish.ErrBusy):
						e.count("refused", 1)
					case err != nil:
						return err
					default:
						e.count("answers", 1)
					}
				}
			}
		})
	},
}

var longCalls = []func(context.Context, *catfish.Client) error{
	func(ctx context.Context, c *catfish.Client) error {
		_, err := c.Nearest(ctx, 0.5, 0.5, catfish.MaxNearest)
		return err
	},
	func(ctx context.Context, c *catfish.Client) error {
		_, err := c.Search(ctx, everything)
		return err
	},
	func(ctx context.Context, c *catfish.Client) error {
		_, err := c.Count(ctx, everything)
		return err
	},
}

var hugeAnswers = Attack{
	Name: "huge-answers", shows: "answers",
	What: "one answer as large as allowed for each worker of each transport, then silence",
	run: func(ctx context.Context, e *Enemy) error {
		for _, transport := range []string{"shm", "soft", "tcp"} {
			// Connections are assigned to the workers round robin.
			for range e.size(8, 2) {
				c, err := e.client(ctx, transport)
				if err != nil {
					e.count("dial failed", 1)
					continue
				}
				items, err := c.SearchAppend(ctx, nil, everything, e.size(catfish.DefaultMaxResults, 100_000))
				if err == nil {
					e.count("answers", 1)
				}
				e.count("objects", len(items))
				c.Close()
			}
		}
		<-ctx.Done()
		return nil
	},
}

// client returns an ordinary client whose searches the server does.
func (e *Enemy) client(ctx context.Context, transport string) (*catfish.Client, error) {
	o := catfish.Options{Transport: transport, Policy: "fast", Logger: discard()}
	if transport == "tcp" {
		o.Policy = "tcp"
	}
	return catfish.Dial(ctx, e.target.Addr, o)
}

var hugeRegions = Attack{
	Name: "huge-regions", shows: "ended",
	What: "rings in sparse memory files of 1 TiB each, over shm, from two processes: more than a server can address",
	run: func(ctx context.Context, e *Enemy) error {
		if !e.job.Small && !e.job.Second {
			job := e.job
			job.Second = true
			_, end, err := another(ctx, job)
			if err != nil {
				return err
			}
			defer end()
		}
		dev, err := e.openDevice("shm")
		if err != nil {
			return err
		}
		defer dev.Close()
		return e.each(ctx, e.size(70, 4), func(ctx context.Context, _ int) error {
			x, err := e.dialRing(ctx, dev, "shm", 1<<40)
			if err != nil {
				return err
			}
			defer x.close()
			// The answer needs the region.
			if err := x.send(ringMessage(kindOpen, 1, []byte(catfish.DefaultCollection))); err != nil {
				return err
			}
			x.ended(ctx)
			return x.qp.Err()
		})
	},
}
