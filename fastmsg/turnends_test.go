package fastmsg

import (
	"bytes"
	"sync"
	"testing"
)

// gatherer answers the requests of a turn when it ends.
type gatherer struct {
	*laterOf
	gathered []asked
}

func (g *gatherer) TurnEnds() bool {
	for _, a := range g.gathered {
		a.Respond(kindLong, a.payload)
	}
	n := len(g.gathered)
	g.gathered = g.gathered[:0]
	return n > 0
}

// Work that a handler defers to the end of a turn is answered, whichever
// requests came in the turn, and also if none follows.
func TestTurnEnds(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		g := &gatherer{laterOf: newLaterOf()}
		later := g.serve
		g.serve = func(c *Conn, m Message) {
			if later(c, m); m.Kind == kindLong {
				g.gathered = append(g.gathered, <-g.asked)
			}
		}
		s := serve(t, p, g, WorkerConfig{})
		var calls sync.WaitGroup
		for k := range 4 {
			c := s.dial(t, CallerConfig{})
			for i := range 50 {
				calls.Go(func() {
					kind := kindLong
					if i%5 == 0 {
						kind = kindSoon
					}
					got, _, err := c.Call(within(t), kind, number(100*k+i), nil)
					if err != nil || !bytes.Equal(got, number(100*k+i)) {
						t.Errorf("call %d: %x, %v", i, got, err)
					}
				})
			}
		}
		calls.Wait()
	})
}
