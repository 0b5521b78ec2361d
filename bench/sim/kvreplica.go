package sim

import (
	"fmt"

	"github.com/catfish-index/catfish/bench/harness"
)

// Replication of a key-value service's PUTs, as HydraDB does it (section 5.2): the thread writes
// a PUT into a ring at each secondary, changes its own store meanwhile, and answers the client
// when it may.
//
//	relaxed  client --> thread --write--> card of each secondary
//	                    PUT      <--ack--  (the card's, no processor)
//	                    answer
//	strict   client --> thread --write--> thread of each secondary: PUT
//	                    PUT      <--write--
//	                    answer
//
// Left out: the answer that relaxed asks for every several tens of PUTs, and rings that are full.

// KVReplication says when a PUT with secondaries is answered.
type KVReplication string

// The ways. The paper does not say whether a thread of relaxed replication serves others while
// the cards write.
const (
	KVRelaxed      KVReplication = "relaxed"       // all cards have acknowledged; the thread serves others meanwhile
	KVRelaxedWaits KVReplication = "relaxed-waits" // the same, and it serves none meanwhile
	KVStrict       KVReplication = "strict"        // all secondaries have answered; it serves none meanwhile
)

// kvLogBytes of a record beside the request: two indicators and a sequence number, a word each.
const kvLogBytes = 24

// maxSecondaries is far above what anybody has.
const maxSecondaries = 16

// kvReplica is a secondary: a host with a card, and a thread that looks at its ring.
type kvReplica struct {
	card   card
	thread meter
}

func (s *KVScheme) validateReplication(threads int) error {
	if err := harness.CheckRange("secondaries", s.Secondaries, 0, maxSecondaries); err != nil || s.Secondaries == 0 {
		return err
	}
	if s.Replication != KVRelaxed && s.Replication != KVRelaxedWaits && s.Replication != KVStrict {
		return fmt.Errorf("%w: replication is %q, want %s, %s or %s", harness.ErrConfig, s.Replication, KVRelaxed, KVRelaxedWaits, KVStrict)
	}
	if threads != 1 || s.Pointers != nil || !s.Written || s.Waits || s.Events || s.Locks {
		return fmt.Errorf("%w: secondaries are of one polling thread that writes answers and does not wait for these, not of %d threads of %+v",
			harness.ErrConfig, threads, *s)
	}
	return nil
}

// log begins a PUT with secondaries: the thread takes the request, and posts the writes.
func (s *kvSim) log(at uint32, delay int64) {
	t := &s.threads[at]
	c := &s.clients[t.serves]
	k, n := &s.cl.Server, float64(len(s.replicas))
	takes := k.PollNs + float64(k.ByteNs*float64(c.requestBytes())) + float64(n*s.cl.Client.PostNs) + s.host(at).posts.move(s.poster(at))
	c.acks, c.owed = len(s.replicas), false
	s.n.busyNs += takes
	s.schedule(s.now+delay+ns(takes), kvLogged, at, 0)
}

// logged: the writes are at the card, and the thread changes its store.
func (s *kvSim) logged(at uint32) {
	if s.late(at, kvLogged) {
		return
	}
	t := &s.threads[at]
	c := &s.clients[t.serves]
	for i := range s.replicas {
		s.n.posts++
		out := s.host(at).start(s.now, float64(c.requestBytes()+kvLogBytes))
		s.schedule(ns(out)+s.far, kvAtReplica, t.serves, uint16(i))
	}
	takes := s.cfg.Costs.PutNs + float64(s.cl.Server.ByteNs*float64(t.answer))
	s.n.busyNs += takes
	s.schedule(s.now+ns(takes), kvDone, at, 0)
}

// atReplica: a record is at a secondary's card.
func (s *kvSim) atReplica(id uint32, i uint16) {
	c, r := &s.clients[id], &s.replicas[i]
	bytes := float64(c.requestBytes() + kvLogBytes)
	in := r.card.serve(s.now, bytes)
	if s.cfg.Scheme.Replication != KVStrict {
		s.schedule(ns(r.card.reply(in, ackBytes))+s.far, kvAckBack, id, i)
		return
	}
	k := &s.cl.Server
	takes := k.PollNs + float64(k.ByteNs*bytes) + s.cfg.Costs.PutNs + s.cl.Client.PostNs
	s.schedule(ns(r.thread.pass(in, takes)), kvReplicaDone, id, i)
}

// replicaDone: a secondary's thread writes its answer.
func (s *kvSim) replicaDone(id uint32, i uint16) {
	s.schedule(ns(s.replicas[i].card.start(s.now, kvSwitchBytes))+s.far, kvAckBack, id, i)
}

// ackBack: an acknowledgement, or an answer, is at the primary's card.
func (s *kvSim) ackBack(id uint32) {
	card := s.host(s.clients[id].thread)
	at := card.receive(s.now, ackBytes)
	if s.cfg.Scheme.Replication == KVStrict {
		s.n.served++
		at = card.serve(s.now, kvSwitchBytes)
	}
	s.schedule(ns(at), kvAcked, id, 0)
}

// acked: it is in the primary's memory. The last one lets the thread answer.
func (s *kvSim) acked(id uint32) {
	c := &s.clients[id]
	if c.acks--; c.acks > 0 || !c.owed {
		return
	}
	t := &s.threads[c.thread]
	switch {
	case s.cfg.Scheme.Replication != KVRelaxed: // The thread does nothing else.
		s.send(c.thread, s.collectNs())
	case t.idle:
		t.idle = false
		t.acked.push(id)
		s.answerAcked(c.thread, max(t.stalled-s.now, 0))
	default:
		t.acked.push(id)
	}
}

// collectNs is the thread's time to find that all have acknowledged.
func (s *kvSim) collectNs() float64 {
	each := s.cl.Client.CompletionNs
	if s.cfg.Scheme.Replication == KVStrict {
		each = s.cl.Server.PollNs
	}
	return float64(each * float64(len(s.replicas)))
}

// replicated ends a thread's own work for a PUT. It reports whether the answer may go.
func (s *kvSim) replicated(at uint32) bool {
	c := &s.clients[s.threads[at].serves]
	if c.acks == 0 {
		return true
	}
	c.owed = true
	if s.cfg.Scheme.Replication == KVRelaxed {
		s.freeNow(at)
	}
	return false
}

// answerAcked answers the first client whose PUT all have.
func (s *kvSim) answerAcked(at uint32, delay int64) {
	t := &s.threads[at]
	t.serves = t.acked.pop()
	c := &s.clients[t.serves]
	t.call, t.answer = c.call, c.answerBytes()
	s.n.busyNs -= float64(delay) // It is the kernel's.
	s.send(at, float64(delay)+s.collectNs())
}
