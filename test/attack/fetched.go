package attack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Attackers of answers that clients fetch (fastmsg/answerring.go, fastmsg/leave.go).

// flagFetch of the handshake: answers may be fetched.
const flagFetch = 2

// The messages of such a client, by the upper bits of an immediate; the lower
// ones are a line, modulo 2^29.
const (
	sayRead  = 4 << 29 // this number of units of my ring are free
	sayTook  = 5 << 29 // all answers before the line
	sayWrite = 6 << 29 // as sayTook, and write all others
	sayLeave = 7 << 29 // leave answers again
	sayLine  = 1<<29 - 1

	fetchedLine = 64
	fetchedData = 56 // bytes of a line that an answer has
	whereBytes  = 48 // of the message with the place of the answers
)

// fetcher is a stranger that may fetch its answers.
type fetcher struct {
	*stranger
	landing rdma.Region // for lines
	written uint64      // bytes of the ring for written answers
	come    uint64      // bytes that arrived in it, since the start
	from    rdma.Remote // the ring of left answers
	lines   uint64      // number of its lines
	first   uint64      // the first line that was not taken
}

// dialFetcher connects with rings of that size, and waits until it may fetch.
func (e *Enemy) dialFetcher(ctx context.Context, dev rdma.Device, transport string, ringBytes int) (_ *fetcher, err error) {
	x, err := e.dialRings(ctx, dev, transport, fastmsg.MailboxBytes+ringBytes, ringBytes, flagFetch)
	if err != nil {
		return nil, err
	}
	f := &fetcher{stranger: x, written: uint64(ringBytes)}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.landing, err = dev.Register(sourceBytes, rdma.LocalWrite); err != nil {
		return nil, err
	}
	return f, f.where(ctx)
}

func (f *fetcher) close() {
	f.stranger.close()
	if f.landing != nil {
		f.landing.Close()
	}
}

// say posts an immediate without data.
func (f *fetcher) say(what uint32, line uint64) error {
	_, err := f.qp.Post([]rdma.WorkRequest{{Op: rdma.OpWriteImm, Imm: what | uint32(line)&sayLine}})
	return err
}

// where takes all written messages, and gives their room back, until the last
// message says where answers are left.
func (f *fetcher) where(ctx context.Context) error {
	for {
		c, err := f.done(ctx, rdma.OpRecv)
		if err != nil {
			return err
		}
		if c.Imm&sayRead != 0 { // room for requests, which are few
			continue
		}
		n := 8 * uint64(c.Imm)
		f.come += n
		if err := f.say(sayRead, n/8); err != nil {
			return err
		}
		if n < whereBytes {
			continue
		}
		// The ring's end does not divide a message.
		at := fastmsg.MailboxBytes + (f.come-whereBytes)%f.written
		b := f.region.Bytes()[at : at+whereBytes]
		if binary.LittleEndian.Uint32(b) != whereBytes || b[5] != byte(fastmsg.FlagWhere) {
			continue
		}
		b = b[fastmsg.HeaderBytes:]
		f.from = rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b)), Addr: binary.LittleEndian.Uint64(b[8:])}
		f.lines, f.first = uint64(binary.LittleEndian.Uint32(b[16:])), binary.LittleEndian.Uint64(b[20:])
		if f.lines == 0 {
			return errors.New("attack: a ring for answers of no lines")
		}
		return nil
	}
}

// done waits for the completion of an operation, and drops others. It fails if
// the operation, or the connection, did.
func (f *fetcher) done(ctx context.Context, op rdma.Op) (rdma.Completion, error) {
	for {
		var c [1]rdma.Completion
		for f.cq.Poll(c[:]) == 1 {
			if c[0].Status != rdma.StatusOK {
				return c[0], c[0].Err()
			}
			if c[0].Op == op {
				return c[0], nil
			}
		}
		if err := errors.Join(f.qp.Err(), ctx.Err()); err != nil {
			return rdma.Completion{}, err
		}
		if err := f.cq.Wait(ctx, time.Second); err != nil && !errors.Is(err, rdma.ErrTimeout) {
			return rdma.Completion{}, err
		}
	}
}

// look reads lines from a position on, at most up to the ring's end, and
// reports whether the first one has arrived.
func (f *fetcher) look(ctx context.Context, at uint64, lines int) (bool, error) {
	slot := at % f.lines
	n := min(lines, int(f.lines-slot), sourceBytes/fetchedLine)
	_, err := f.qp.Post([]rdma.WorkRequest{{
		Op: rdma.OpRead, Local: rdma.Buffer{Region: f.landing, Len: n * fetchedLine}, Remote: f.from.At(slot * fetchedLine),
	}})
	if err != nil {
		return false, err
	}
	if _, err := f.done(ctx, rdma.OpRead); err != nil {
		return false, err
	}
	return binary.LittleEndian.Uint32(f.landing.Bytes()) == uint32(at+1), nil
}

// searchSome returns the body of a search for limit objects.
func searchSome(limit int) []byte {
	b := searchAll()
	binary.LittleEndian.PutUint32(b[4:], uint32(limit))
	return b
}

// overFetched runs an attack n times, alternately over shm and soft, each with
// its own device.
func (e *Enemy) overFetched(ctx context.Context, n, ringBytes int, attack func(context.Context, *fetcher, int) error) error {
	return e.each(ctx, n, func(ctx context.Context, i int) error {
		transport := []string{"shm", "soft"}[i%2]
		dev, err := e.openDevice(transport)
		if err != nil {
			return err
		}
		defer dev.Close()
		for ctx.Err() == nil {
			f, err := e.dialFetcher(ctx, dev, transport, ringBytes)
			if err != nil {
				return err
			}
			err = attack(ctx, f, i/2)
			f.close()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

var unreadFetched = Attack{
	Name: "unread-fetched", shows: "rings",
	What: "rings over shm and soft that ask for everything, and have the answers left; half take nothing, half read without end and never say so",
	run: func(ctx context.Context, e *Enemy) error {
		return e.overFetched(ctx, e.size(64, 6), e.size(fastmsg.MaxRingBytes, fastmsg.MinRingBytes),
			func(ctx context.Context, f *fetcher, i int) error {
				for id := range uint64(16) {
					if err := f.send(ringMessage(kindSearch, id, searchAll())); err != nil {
						return err
					}
				}
				if i%2 == 0 {
					f.ended(ctx)
					return f.qp.Err()
				}
				// Over shm a read is done when it is posted: nothing waits and notices the
				// end of ctx.
				for at := f.first; ctx.Err() == nil; at += sourceBytes / fetchedLine {
					if _, err := f.look(ctx, at, sourceBytes/fetchedLine); err != nil {
						return err
					}
					e.count("reads", 1)
				}
				return nil
			})
	},
}

var fetchChanges = Attack{
	Name: "fetch-changes", shows: "changes",
	What: "rings over shm and soft that have answers left and written in turn, as fast as they can; half of them with answers that fill the ring",
	run: func(ctx context.Context, e *Enemy) error {
		size := e.size(fastmsg.MaxRingBytes, 64<<10)
		return e.overFetched(ctx, e.size(16, 4), size, func(ctx context.Context, f *fetcher, i int) error {
			// Two thirds of the ring, to leave room for the lines' numbers and headers.
			objects := size * 2 / 3 / objectBytes
			for id := uint64(0); f.at < requestsBytes; id++ {
				if i%2 == 0 {
					if err := f.send(ringMessage(kindSearch, id, searchSome(objects))); err != nil {
						return err
					}
					last := f.first + uint64(objects*objectBytes/fetchedData)
					for there := false; !there; {
						var err error
						if there, err = f.look(ctx, last-1, 1); err != nil {
							return err
						}
					}
				}
				// Nothing was taken: all left answers must be moved.
				if err := errors.Join(f.say(sayWrite, f.first), f.say(sayLeave, 0), f.where(ctx)); err != nil {
					return err
				}
				e.count("changes", 1)
				if i%2 != 0 && id == changesEach {
					return nil
				}
			}
			return nil
		})
	},
}

const (
	objectBytes = 40 // of an answer
	// requestsBytes is how much of the server's ring a connection uses at most.
	requestsBytes = 128 << 10
	// changesEach is the number of changes without answers after which a connection ends.
	changesEach = 10_000
)

var malformedFetched = Attack{
	Name: "malformed-fetched", shows: "malformed",
	What: "rings over shm and soft that take lines which are not there, change twice, read beyond their answers, by other keys, and write there",
	run: func(ctx context.Context, e *Enemy) error {
		return e.overFetched(ctx, e.size(8, 2), fastmsg.MinRingBytes, func(ctx context.Context, f *fetcher, _ int) error {
			if err := f.send(ringMessage(kindSearch, 1, searchAll())); err != nil {
				return err
			}
			e.count("malformed", 1)
			what := rand.IntN(len(wrongs))
			// The connection may have ended by then, as it should.
			if wrongs[what](f) != nil {
				return nil
			}
			soon, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if f.ended(soon); soon.Err() != nil && ctx.Err() == nil {
				e.count(fmt.Sprintf("way %d went on", what), 1)
			}
			return nil
		})
	},
}

// wrongs are forbidden operations; each ends the connection.
var wrongs = []func(*fetcher) error{
	func(f *fetcher) error { return f.say(sayTook, f.first+f.lines+1+rand.Uint64N(sayLine/2)) },
	func(f *fetcher) error { return f.say(sayTook, f.first-1-rand.Uint64N(sayLine/2)) },
	func(f *fetcher) error { return f.say(sayWrite, f.first-1) },
	func(f *fetcher) error { return f.say(sayLeave, 0) },
	func(f *fetcher) error { return errors.Join(f.say(sayLeave, 0), f.say(sayLeave, 0)) },
	func(f *fetcher) error { return errors.Join(f.say(sayWrite, f.first), f.say(sayWrite, f.first)) },
	func(f *fetcher) error { return f.say(sayRead, 1+rand.Uint64N(sayLine)) },
	func(f *fetcher) error { return f.read(f.from.At(f.lines * fetchedLine)) },
	func(f *fetcher) error { return f.read(f.from.At((f.lines - 1) * fetchedLine)) },
	func(f *fetcher) error {
		other := f.from
		other.Key ^= 1 << rand.IntN(64)
		return f.read(other)
	},
	func(f *fetcher) error { return f.read(f.ring) }, // may only be written
	func(f *fetcher) error {
		_, err := f.qp.Post([]rdma.WorkRequest{{
			Op: rdma.OpWrite, Local: rdma.Buffer{Region: f.source, Len: fetchedLine}, Remote: f.from,
		}})
		return err
	},
}

// read posts a Read of two lines.
func (f *fetcher) read(at rdma.Remote) error {
	_, err := f.qp.Post([]rdma.WorkRequest{{
		Op: rdma.OpRead, Local: rdma.Buffer{Region: f.landing, Len: 2 * fetchedLine}, Remote: at,
	}})
	return err
}
