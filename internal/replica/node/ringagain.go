package node

import (
	"context"
	"errors"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/link"
	"github.com/catfish-index/catfish/internal/replica/rings"
)

// A follower whose queue pair failed follows over the stream. It asks the primary's device now
// and then, by a queue pair with an unknown ticket, which is refused. Once
// it is, the lane ends, and the next one has a ring. To build that without asking first
// would cost more: a follower that waits for a device longer than a lease is not in
// sync any more.

const (
	// againTime is before a question, and between two. A lane that fell back again is ended
	// after twice as long as the one before, up to againMost: something is wrong that
	// a question does not show.
	againTime = time.Minute
	againMost = time.Hour
)

// again ends a lane once the primary's device answers.
func (l *lanes) again(ctx context.Context, x *lane, to Member, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if l.deviceAnswers(ctx, to) {
			l.n.log.Info("a lane of the group ends, since the device of its primary answers again", "peer", to.ID, "reason", x.status.Reason)
			x.close()
			return
		}
	}
}

// deviceAnswers reports whether a queue pair's request gets to the primary by some transport,
// with a ring as large as the next one's.
func (l *lanes) deviceAnswers(ctx context.Context, to Member) bool {
	ctx, cancel := context.WithTimeout(ctx, ringTime)
	defer cancel()
	ways, err := l.n.o.Rings.Ways(ctx, to.Addr)
	if err != nil {
		return false
	}
	h := layout.Hello{Boot: to.Boot, Group: layout.GroupSum(l.n.o.Group), Member: uint32(l.n.id)}
	for _, w := range ways {
		dev, err := w.Open()
		if err != nil {
			continue
		}
		r, err := rings.Dial(ctx, dev, w.Addr, h, l.n.o.Rings.Bytes(), link.MaxBytes)
		if err == nil {
			r.Close() // No follower has this ticket.
		}
		_ = dev.Close()
		if errors.Is(err, rdma.ErrRejected) {
			return true
		}
	}
	return false
}
