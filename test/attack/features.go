package attack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/paulmach/orb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Requests about features in wire form (internal/wire/features.go).
const (
	kindPart       = 21
	kindFind       = 23
	kindNear       = 24
	kindStore      = 26
	kindErase      = 27
	kindPatch      = 28
	kindEraseWhere = 29
)

// features is a client of the attacked features.
func (e *Enemy) features(ctx context.Context, transport string) (*catfish.Client, *catfish.Features, error) {
	c, err := e.client(ctx, transport)
	if err != nil {
		return nil, nil, err
	}
	f, err := c.Features(featuresName)
	if err != nil {
		c.Close()
	}
	return c, f, err
}

// littered is how many features are searched, smallLittered how many in tests.
const littered, smallLittered = 200_000, 1000

// litter puts features in the south, where an attack then searches.
func litter(ctx context.Context, e *Enemy) error {
	c, f, err := e.features(ctx, "shm")
	if err != nil {
		return err
	}
	defer c.Close()
	r := rand.New(rand.NewPCG(1, 2)) // Each process puts the same ones.
	all := make([]catfish.Feature, e.size(littered, smallLittered))
	for i := range all {
		all[i] = litterFeature(r, i)
	}
	_, err = f.PutMany(ctx, all)
	return err
}

func litterFeature(r *rand.Rand, i int) catfish.Feature {
	return catfish.Feature{
		ID:         fmt.Sprint("attack-", i),
		Geometry:   orb.Point{r.Float64()*360 - 180, south - r.Float64()*70},
		Properties: fmt.Appendf(nil, `{"n":%d,"text":"%0200d"}`, i, i),
	}
}

// partHead says which part of a value follows.
func partHead(b []byte, at, of int) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, uint32(at)), uint32(of))
}

// featureRequest returns a well-formed request. It stores its data in the south.
func featureRequest(kind byte, coll uint32) []byte {
	f64 := func(b []byte, vs ...float64) []byte {
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	x, y := rand.Float64()*360-180, south-rand.Float64()*70
	head := recordHead(coll, 0)
	id := fmt.Sprint("rubbish-", rand.IntN(1000))
	value, err := feature.Append(nil, orb.Polygon{{{x, y}, {x, y - 1}, {x / 2, y - 1}, {x, y}}}, []byte(`{"n":1}`))
	if err != nil {
		panic(err) // It is no polygon.
	}
	switch kind {
	case kindPart:
		b := recordHead(coll, uint32(rand.IntN(9)))
		return append(partHead(b, 0, len(value)), value...)
	case kindNear:
		return append(f64(recordHead(coll, 10), x, y, 1e6), "properties.n > 3"...)
	case kindStore:
		b := recordHead(coll, 1)
		b = append(b, make([]byte, 12)...) // no condition
		b = binary.LittleEndian.AppendUint64(b, uint64(time.Now().Add(time.Second).UnixNano()))
		return append(binary.LittleEndian.AppendUint32(withKey(b, id), uint32(len(value))), value...)
	case kindErase, kindPatch:
		b := withKey(append(head, make([]byte, 8)...), id)
		if kind == kindPatch {
			b = append(b, `{"n":null,"m":{"k":[1]}}`...)
		}
		return b
	default: // find, countFeatures, eraseWhere; it erases only rubbish
		b := append(recordHead(coll, 0), 100, 0, 0, 0, 0, 0, 0, 0)
		b = withKey(withKey(b, ""), `id.startsWith("rubbish-")`)
		return f64(b, -180, -89, 180, south)
	}
}

var malformedFeatures = Attack{
	Name: "malformed-features", shows: "failures",
	What: "requests about features of each kind, cut off, extended and changed, over plain sockets, shm and soft",
	run: func(ctx context.Context, e *Enemy) error {
		coll, err := e.number(ctx, featuresName)
		if err != nil {
			return err
		}
		return e.ask(ctx, coll, e.size(12, 3), func(coll uint32) (byte, []byte) {
			kind := byte(kindPart)
			if rand.IntN(4) > 0 {
				kind = kindFind + byte(rand.IntN(kindEraseWhere-kindFind+1))
			}
			b := featureRequest(kind, coll)
			const from = 8 // the collection's number, and the argument
			switch rand.IntN(6) {
			case 0:
				b = b[:rand.IntN(len(b)+1)]
			case 1:
				b = append(b, junk(1+rand.IntN(4000))...)
			case 2, 3:
				if kind == kindEraseWhere { // erase only the attacker's own
					kind = kindFind
				}
				for range 1 + rand.IntN(4) {
					b[from+rand.IntN(len(b)-from)] = byte(rand.Uint32())
				}
			case 4:
				b = append(b[:from], junk(rand.IntN(200))...)
			case 5:
				binary.LittleEndian.PutUint32(b[4:], rand.Uint32())
			}
			return kind, b
		})
	},
}

var halfPuts = Attack{
	Name: "half-puts", shows: "parts",
	What: "features in parts of which the last never comes, up to 8 of 16 MB a connection, some of which are then left",
	run: func(ctx context.Context, e *Enemy) error {
		coll, err := e.number(ctx, featuresName)
		if err != nil {
			return err
		}
		return e.each(ctx, e.size(32, 4), func(ctx context.Context, i int) error {
			c, err := e.stream(ctx, i, streamTCP)
			if err != nil {
				return err
			}
			defer c.Close()
			// A request takes some 10,000 bytes at most (internal/wire/frame.go).
			const of, part = 16 << 20, 10_000
			body := make([]byte, part)
			at := 0
			for id := uint64(1); ctx.Err() == nil && at+part < of; id++ {
				b := recordHead(coll, uint32(id%8))
				b = partHead(b, at, of)
				if id%8 == 0 {
					at += part
				}
				if _, err := c.Write(frame(kindPart, id, append(b, body...))); err != nil {
					return err
				}
				kind, err := readAnswer(c)
				if err != nil {
					return err
				}
				if e.count("parts", 1); kind != kindReply {
					e.count("refused", 1)
					pause(ctx, 100*time.Millisecond)
				}
				if rand.IntN(2000) == 0 {
					return errors.New("left")
				}
			}
			<-ctx.Done()
			return nil
		})
	},
}

var costlySearches = Attack{
	Name: "costly-searches", shows: "asked",
	What:    "searches of features that look at everything and find nothing, some with a deadline or polygons of many points, over shm, soft and plain sockets",
	prepare: litter,
	run: func(ctx context.Context, e *Enemy) error {
		n := e.size(20_000, 2000)
		star := make(orb.Ring, 0, n+1) // around the south, with many points
		for i := range n {
			a, r := 2*math.Pi*float64(i)/float64(n), 20+10*float64(i%2)
			star = append(star, orb.Point{r * math.Cos(a), south - 40 + r*math.Sin(a)})
		}
		star = append(star, star[0])
		return e.each(ctx, 3, func(ctx context.Context, i int) error {
			c, f, err := e.features(ctx, []string{"shm", "soft", "tcp"}[i])
			if err != nil {
				return err
			}
			defer c.Close()
			return together(e.size(64, 4), func() error {
				for ctx.Err() == nil {
					call, cancel := context.WithTimeout(ctx, rand.N(askTimeout))
					if rand.IntN(2) == 0 { // It leaves its request behind.
						call, cancel = context.WithTimeout(ctx, time.Millisecond)
					}
					err := e.askMuch(call, f, star)
					cancel()
					if err = e.refused(err); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, catfish.ErrUnknownOutcome) && !errors.Is(err, catfish.ErrNotSent) {
						return err
					}
					e.count("asked", 1)
				}
				return nil
			})
		})
	},
}

// nothing is a filter that takes long and matches nothing.
const nothing = `properties.text.contains("x") || properties.n < 0 || id.endsWith("never")`

// askMuch makes one costly request.
func (e *Enemy) askMuch(ctx context.Context, f *catfish.Features, star orb.Ring) error {
	world := query.Box(-180, -90, 180, south)
	switch rand.IntN(5) {
	case 0:
		_, err := f.Count(ctx, catfish.FeatureQuery{Area: world, Filter: nothing})
		return err
	case 1:
		for _, err := range f.Nearest(ctx, catfish.NearestQuery{Y: -80, K: 1000, Filter: nothing}) {
			return err
		}
	case 2:
		_, err := f.Count(ctx, catfish.FeatureQuery{Area: query.Polygon(orb.Polygon{star}), Relation: feature.Within})
		return err
	case 3:
		_, _, err := f.Put(ctx, catfish.Feature{ID: "attack-star", Geometry: orb.Polygon{star}}, kv.Condition{})
		return err
	default:
		for _, err := range f.Search(ctx, catfish.FeatureQuery{Area: world, Order: query.ByID, Limit: 10, Filter: nothing}) {
			return err
		}
	}
	return nil
}

var unreadFeatures = Attack{
	Name: "unread-features", shows: "calls",
	What:    "searches for all features by gRPC, most of which are never read, some with short deadlines",
	prepare: litter,
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, 2, func(ctx context.Context, i int) error {
			conn, err := e.dialGRPC(i)
			if err != nil {
				return err
			}
			defer conn.Close()
			c := catfishv1.NewFeatureServiceClient(conn)
			var wg sync.WaitGroup
			for n := range e.size(40, 6) {
				wg.Go(func() { e.findAll(ctx, c, n) })
			}
			wg.Wait()
			return errors.New("all ended")
		})
	},
}

// findAll begins a search, and reads the answer or waits.
func (e *Enemy) findAll(ctx context.Context, c catfishv1.FeatureServiceClient, n int) {
	e.count("calls", 1)
	limit := time.Minute
	if n%3 == 0 {
		limit = 5 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req := &catfishv1.FeatureServiceSearchRequest{Collection: featuresName, Query: &catfishv1.Query{
		Area: &catfishv1.Area{Shape: &catfishv1.Area_Box{Box: &catfishv1.Box{West: -180, South: -90, East: 180, North: south}}},
	}}
	if n%2 == 0 {
		req.Order, req.From = catfishv1.Order_ORDER_DISTANCE, &catfishv1.Point{Y: -80}
	}
	stream, err := c.Search(ctx, req)
	if err == nil && n%4 != 1 {
		if _, err = stream.Recv(); err == nil {
			<-stream.Context().Done()
			return
		}
	}
	for err == nil {
		_, err = stream.Recv()
	}
	switch {
	case errors.Is(err, io.EOF):
		e.count("answers", 1)
	case status.Code(err) == codes.ResourceExhausted:
		e.count("refused", 1)
	default:
		e.count("call "+status.Code(err).String(), 1)
	}
}
