package attack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
	records "github.com/catfish-index/catfish/internal/record"
)

var malformedRecords = Attack{
	Name: "malformed-records", shows: "failures",
	What: "requests about records of each kind, cut off, extended and changed, over plain sockets, shm and soft",
	run: func(ctx context.Context, e *Enemy) error {
		return e.askRecords(ctx, e.size(12, 3), spoiled)
	},
}

// spoiled is a request about records, usually with an error in it.
func spoiled(coll uint32) (kind byte, b []byte) {
	kind = kindCreateRecords + byte(rand.IntN(kindRenew-kindCreateRecords+1))
	if rand.IntN(8) == 0 {
		coll = rand.Uint32N(64) // others are a tree, or do not exist
	}
	b = recordRequest(kind, coll, fmt.Sprintf("attacker %d", rand.IntN(1000)))
	// Keep the collection's number, and that a new one cannot be created.
	from := min(8, len(b))
	if kind == kindCreateRecords {
		from = 1
	}
	switch rand.IntN(5) {
	case 0:
		b = b[:rand.IntN(len(b)+1)]
	case 1:
		b = append(b, junk(1+rand.IntN(4000))...)
	case 2:
		for range 1 + rand.IntN(4) {
			b[from+rand.IntN(len(b)-from)] = byte(rand.Uint32())
		}
	case 3:
		b = append(b[:from], junk(rand.IntN(200))...)
	case 4: // an argument that promises too much, or an unknown condition
		if kind != kindCreateRecords {
			binary.LittleEndian.PutUint32(b[4:], rand.Uint32())
		}
	}
	return kind, b
}

var cursors = Attack{
	Name: "cursors", shows: "answers",
	What: "scans of records with made-up cursors, over plain sockets, shm and soft",
	run: func(ctx context.Context, e *Enemy) error {
		return e.askRecords(ctx, e.size(12, 3), func(coll uint32) (byte, []byte) {
			return kindScan, append(recordHead(coll, 0), cursor()...)
		})
	},
}

// cursor is made up, so that some are beyond tables of each size, some within.
func cursor() []byte {
	log2 := rand.IntN(66)
	word := func() uint64 {
		switch rand.IntN(4) {
		case 0:
			return 0
		case 1:
			return rand.Uint64()
		case 2:
			return math.MaxUint64 - rand.Uint64N(4)
		}
		return rand.Uint64N(1 << (1 + min(log2, 40)))
	}
	b := binary.LittleEndian.AppendUint64(nil, []uint64{0, word()}[rand.IntN(2)])
	b = binary.LittleEndian.AppendUint64(b, word())
	b = binary.LittleEndian.AppendUint64(b, word())
	return append(b, byte(log2), byte(rand.Uint32()), byte(rand.IntN(8)/7), byte(rand.Uint32()))
}

var leases = Attack{
	Name: "leases", shows: "answers",
	What: "leases asked for made-up references of records, 256 at a time, over plain sockets, shm and soft",
	run: func(ctx context.Context, e *Enemy) error {
		return e.askRecords(ctx, e.size(12, 3), func(coll uint32) (byte, []byte) {
			const most = 256 // of one request
			b := recordHead(coll, most)
			for range most {
				// A place of 34 bits, lines less one of 10, a generation of 20
				// (internal/record/ref.go): most are about the collection's first spans,
				// in their early generations, and some of these records exist.
				ref := rand.Uint64()
				if rand.IntN(4) > 0 {
					ref = rand.Uint64N(1<<14)<<30 | rand.Uint64N(4)<<20 | rand.Uint64N(8)
				}
				b = binary.LittleEndian.AppendUint64(b, ref)
			}
			return kindRenew, b
		})
	},
}

var shortLived = Attack{
	Name: "short-lived", shows: "puts",
	What: "records that live for 1 to 50 ms, put as fast as can be under ever other keys, over shm, soft and plain sockets",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, 3, func(ctx context.Context, i int) error {
			c, err := e.client(ctx, []string{"shm", "soft", "tcp"}[i])
			if err != nil {
				return err
			}
			defer c.Close()
			r, err := c.Records(recordsName)
			if err != nil {
				return err
			}
			return together(e.size(32, 4), func() error {
				key, value := make([]byte, 16), make([]byte, 200)
				for {
					binary.LittleEndian.PutUint64(key, rand.Uint64())
					_, err := r.Put(ctx, catfish.Record{
						Key: key, Value: value[:rand.IntN(len(value))],
						Expires: time.Now().Add(time.Millisecond + rand.N(49*time.Millisecond)),
					}, kv.Condition{})
					if err := e.refused(err); err != nil {
						return err
					}
					e.count("puts", 1)
				}
			})
		})
	},
}

// together runs work in n goroutines, and returns one of their errors.
func together(n int, work func() error) error {
	errs := make(chan error, n)
	for range n {
		go func() { errs <- work() }()
	}
	var last error
	for range n {
		last = <-errs
	}
	return last
}

// refused counts refusals, and returns other errors.
func (e *Enemy) refused(err error) error {
	if errors.Is(err, records.ErrFull) || errors.Is(err, catfish.ErrBusy) {
		e.count("refused", 1)
		return nil
	}
	return err
}

var fullRecords = Attack{
	Name: "full-records", shows: "puts",
	What: "collections of records that are filled until there is no room, written to for a while longer, and dropped",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(2, 1), func(ctx context.Context, i int) error {
			c, err := e.client(ctx, []string{"shm", "soft"}[i])
			if err != nil {
				return err
			}
			defer c.Close()
			name := fmt.Sprintf("attack-full-%d", i)
			if err := c.CreateRecords(ctx, name, catfish.RecordsOptions{}); err != nil {
				return err
			}
			defer func() {
				// Also after the attack has ended: what it took must be given back.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
				defer cancel()
				if _, err := c.DropCollection(ctx, name); err == nil {
					e.count("dropped", 1)
				}
			}()
			r, err := c.Records(name)
			if err != nil {
				return err
			}
			return e.fill(ctx, r)
		})
	},
}

// fillers put at the same time, and afterFull is how many more records each
// puts into the full collection.
const (
	fillers   = 16
	afterFull = 100
)

func (e *Enemy) fill(ctx context.Context, r *catfish.Records) error {
	return together(fillers, func() error {
		key, value := make([]byte, 16), make([]byte, 30_000)
		for left := -1; left != 0; {
			binary.LittleEndian.PutUint64(key, rand.Uint64())
			_, err := r.Put(ctx, catfish.Record{Key: key, Value: value}, kv.Condition{})
			switch {
			case errors.Is(err, records.ErrFull):
				if e.count("refused", 1); left < 0 {
					e.count("full", 1)
					left = afterFull
				}
				left--
			case err != nil:
				return err
			default:
				e.count("puts", 1)
			}
		}
		return nil
	})
}
