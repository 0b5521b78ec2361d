package server

import (
	"errors"

	"github.com/catfish-index/catfish/internal/limits"
)

// work is a request that another goroutine carries out in scheduling slots.
type work struct {
	s      *Server
	source string
	do     func(d *doing) ([]byte, error)
}

func (w *work) keeps() int { return 0 }

func (w *work) refused() {}

func (w *work) begin(a lateAnswer) {
	w.s.serving.Go(func() {
		d := &doing{Job: w.s.turns.Job(w.s.ctx, w.source), s: w.s, to: a}
		var out []byte
		err := d.pause()
		if err == nil {
			out, err = w.do(d)
		}
		d.End()
		d.to.Give(d.kept + d.answer)
		if err == nil {
			err = limits.CheckMemory(w.s, int64(len(out)))
		}
		if err != nil {
			a.fail(err, d.done)
			return
		}
		a.reply(out)
	})
}

// doing is the state of a work: its scheduling slot, and the bytes that it holds of its
// connection's account.
type doing struct {
	*limits.Job
	s            *Server
	to           lateAnswer
	kept, answer int64
	done         uint64 // how much of it was carried out, for an error
}

// errHungUp ends the work for a client that has disconnected.
var errHungUp = errors.New("catfish: the client has hung up")

// pause is a search's Pace. It ends the work for a client that has hung up.
func (d *doing) pause() error {
	if d.to.ended() {
		return errHungUp
	}
	return d.Pause()
}

// keeps is a search's Hold.
func (d *doing) keeps(bytes int64) error { return d.count(&d.kept, bytes) }

// answers sets how many bytes of memory the answer takes.
func (d *doing) answers(bytes int) error {
	if d == nil || int64(bytes) == d.answer {
		return nil
	}
	return d.count(&d.answer, int64(bytes))
}

// count sets part, a part of the held bytes, to n.
func (d *doing) count(part *int64, n int64) error {
	return limits.Hold(d.to, d.s, part, n)
}
