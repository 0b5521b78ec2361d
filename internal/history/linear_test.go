package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"
)

// oracle is porcupine's answer to the same question.
func oracle(initial uint64, ops []operation[uint64]) bool {
	model := porcupine.Model{
		Init:  func() any { return initial },
		Step:  func(state, input, _ any) (bool, any) { return input.(operation[uint64]).step(state.(uint64)) },
		Equal: func(a, b any) bool { return a == b },
	}
	var all []porcupine.Operation
	for _, o := range ops {
		all = append(all, porcupine.Operation{ClientId: o.client, Call: o.call, Return: o.end, Input: o})
	}
	return porcupine.CheckOperationsTimeout(model, all, 0) == porcupine.Ok
}

// drawn is a history of a few clients, some of which saw wrong values: each
// operation takes effect at a moment between its call and its return.
func drawn(r *rand.Rand) []operation[uint64] {
	var ops []operation[uint64]
	clients, each := 1+r.IntN(5), 1+r.IntN(5)
	type effect struct {
		at int64
		o  *KeyOp
		i  int
	}
	var effects []effect
	for c := range clients {
		now := int64(r.IntN(5))
		for range each {
			o := &KeyOp{Read: r.IntN(2) == 0, Value: uint64(1 + r.IntN(3)), Remove: r.IntN(4) == 0, IfAbsent: r.IntN(3) == 0}
			if o.Remove {
				o.Value, o.IfAbsent = 0, false
			}
			call := now
			at := call + int64(r.IntN(8))
			end := at + int64(r.IntN(8))
			now = end + int64(r.IntN(3))
			effects = append(effects, effect{at, o, len(ops)})
			ops = append(ops, operation[uint64]{client: c, call: call, end: end})
		}
	}
	r.Shuffle(len(effects), func(i, j int) { effects[i], effects[j] = effects[j], effects[i] })
	value := uint64(0)
	for now := int64(0); now < 200; now++ {
		for _, e := range effects {
			if e.at != now {
				continue
			}
			o := e.o
			switch {
			case o.Read:
				o.Value = value
				if r.IntN(8) == 0 {
					o.Value = uint64(r.IntN(4)) // a lie, perhaps
				}
			default:
				holds := !o.IfAbsent || value == 0
				if o.Remove {
					holds = value != 0
				}
				if !holds {
					o.Outcome = Refused
				}
				if lost := r.IntN(8) == 0; lost {
					o.Outcome, ops[e.i].end = Unknown, never
					holds = holds && r.IntN(2) == 0
				}
				if holds {
					value = o.Value
				}
			}
			ops[e.i].watches, ops[e.i].step = o.Read || o.Outcome == Refused, o.step
		}
	}
	return ops
}

func TestExplainedAsByPorcupine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	answers := map[bool]int{}
	for n := range 20_000 {
		ops := drawn(r)
		got, err := explained(0, ops, most)
		if want := oracle(0, ops); err != nil || got != want {
			t.Fatalf("history %d: %v, %v, want %v: %+v", n, got, err, want, ops)
		}
		answers[got]++
	}
	if answers[true] < 1000 || answers[false] < 1000 {
		t.Errorf("answers %v say little", answers)
	}
}

func get(call, end int64, value uint64) operation[uint64] {
	return operation[uint64]{call: call, end: end, watches: true, step: KeyOp{Read: true, Value: value}.step}
}

func put(call, end int64, value uint64, ifAbsent bool) operation[uint64] {
	return operation[uint64]{call: call, end: end, step: KeyOp{Value: value, IfAbsent: ifAbsent}.step}
}

// Hundreds of reads that all overlap all writes of one client are one configuration
// for each write, whether there is an order or not.
func TestExplainedManyReads(t *testing.T) {
	var ops []operation[uint64]
	for v := range uint64(300) {
		ops = append(ops, put(int64(2*v+1), int64(2*v+2), v+1, false), get(0, 1000, v), get(0, 1000, v))
	}
	if ok, err := explained(0, ops, most); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if ok, err := explained(0, append(ops, get(0, 1000, 400)), most); ok || err != nil {
		t.Errorf("with what was never written: %v, %v", ok, err)
	}
}

// A check that would take forever ends.
func TestExplainedGivesUp(t *testing.T) {
	var ops []operation[uint64]
	for v := range uint64(64) {
		ops = append(ops, put(0, never, v+1, false))
	}
	if ok, err := explained(0, append(ops, get(0, 1, 100)), 1000); ok || !errors.Is(err, errTooMany) {
		t.Errorf("%v, %v, want %v", ok, err, errTooMany)
	}
}

func BenchmarkExplained(b *testing.B) {
	for _, overlap := range []int64{1, 10, 100} {
		b.Run(fmt.Sprintf("overlap=%d", overlap), func(b *testing.B) {
			var ops []operation[uint64]
			for v := range int64(1000) {
				ops = append(ops, put(10*v, 10*v+9, uint64(v+1), false), get(10*(v-overlap), 10*v+15, uint64(v+1)))
			}
			for b.Loop() {
				if ok, err := explained(0, ops, most); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
