package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
)

// Bad arguments of commands that change the map are named before a coordinator is asked.
func TestClusterMovesUsage(t *testing.T) {
	for args, says := range map[string]string{
		"init a:x":                           `weight "x" of group "a", want 0 to 100`,
		"add a:101":                          `weight "101"`,
		"add a b":                            "arguments: 2",
		"add a":                              "--coordinators is missing",
		"weigh a:-1":                         `weight "-1"`,
		"move 4096 b":                        `"4096", want a slot from 0 to 4095`,
		"move 9-8 b":                         `"9-8"`,
		"move 1,,2 b":                        `slots "1,,2": ""`,
		"move 1- b":                          `"1-"`,
		"move 1 b --moves 0":                 "--moves is 0, want 1 to 256",
		"drain a --moves 257":                "--moves is 257",
		"rebalance --tolerance -0.1":         "--tolerance is -0.1, want 0 to 1",
		"rebalance --tolerance NaN":          "--tolerance is NaN",
		"rebalance --bytes -1":               "--bytes is -1",
		"rebalance --bytes 1 --by count":     "--bytes needs --by bytes",
		"rebalance --bytes 1 --by requests":  "--bytes needs --by bytes",
		"rebalance --by x --coordinators":    `--by is "x", want bytes, requests or count`,
		"rebalance --every 1ms":              "1ms between plans, want 1s or more",
		"rebalance --every 1m --json":        "--every with",
		"rebalance --every 1m --tolerance 0": "a tolerance of 0",
		"undo":                               "want slots, a range, or --all",
		"undo 7 --all":                       "want slots, a range, or --all",
		"move b":                             "want slots, or --collection and --range",
		"move 1 b --collection a":            "want slots, or --collection and --range",
		"move b --collection a":              `--range ""`,
		"move b --range 7":                   `--collection ""`,
		"undo --collection a --range x":      `--range "x"`,
		"split":                              "name",
		"split --collection a/b":             `"a/b"`,
		"split --collection a --at -1":       `--at "-1", want a position from 0 to`,
		"split --collection a --range x":     `--range "x"`,
		"split --collection a --at 7":        "--coordinators is missing",
	} {
		if strings.HasSuffix(args, "--coordinators") {
			args += " 127.0.0.1:1"
		}
		clitest.Fail(t, ExitUsage, strings.Fields("cluster "+args), says)
	}
	slots, err := parseSlots("7,100-102,4095")
	if err != nil || !slices.Equal(slots, []uint16{7, 100, 101, 102, 4095}) {
		t.Error(slots, err)
	}
}

// moving is a map with moves at several steps.
func moving(t *testing.T) *placement.Map {
	t.Helper()
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	for i, step := range []func() (*placement.Map, error){
		func() (*placement.Map, error) { return m.AddGroup("c", 0) },
		func() (*placement.Map, error) {
			return m.Begin(placement.Move{Part: placement.Part{Slot: 1}, To: 2}, placement.Move{Part: placement.Part{Slot: 4000}, From: 1, To: 2},
				placement.Move{Part: placement.Part{Slot: 2}, To: 2}, placement.Move{Part: placement.Part{Slot: 3}, To: 2})
		},
		func() (*placement.Map, error) { return m.Copied(placement.Part{Slot: 2}) },
		func() (*placement.Map, error) { return m.Freeze(placement.Part{Slot: 2}, 77) },
	} {
		if err == nil {
			m, err = step()
		}
		if err != nil {
			t.Fatal(i, err)
		}
	}
	return m
}

// The status says how many slots move from where to where, and at which steps; in JSON each.
func TestClusterTextOfMoves(t *testing.T) {
	c := clusterMap(moving(t))
	const want = `map of version 5, epoch 1: group a has 2048 of 4096 slots, group b has 2048 of 4096 slots, group c has 0 of 4096 slots (weight 0)
  a -> c: 3 move (copy 2, freeze 1)
  b -> c: 1 moves (copy 1)
`
	if got := c.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b, err := json.Marshal(c.Moves)
	if err != nil {
		t.Fatal(err)
	}
	const moves = `[{"slot":1,"from":"a","to":"c","step":"copy"},{"slot":4000,"from":"b","to":"c","step":"copy"},` +
		`{"slot":2,"from":"a","to":"c","step":"freeze","until":77},{"slot":3,"from":"a","to":"c","step":"copy"}]`
	if string(b) != moves {
		t.Errorf("%s, want %s", b, moves)
	}
}

// Progress is a line every few seconds, and one at the end.
func TestMovesProgress(t *testing.T) {
	var b bytes.Buffer
	p := &movesProgress{w: &b}
	m := moving(t)
	s := cluster.Progress{Map: m, Done: cluster.Result{Moves: 10, Bytes: 3 << 20}, Left: 30, LeftBytes: 5 << 20, Still: 20 * time.Second}
	p.show(s)
	p.show(s)
	s.Done.Moves, s.Left, s.LeftBytes, s.Still = 40, 0, 0, 0
	p.show(s)
	p.show(s)
	const want = `moved 10 of 40 parts, 3.0 MiB of 8.0 MiB; 4 move (copy 3, freeze 1); a has 2048, b has 2048, c has 0; nothing has changed for 20s
moved 40 of 40 parts, 3.0 MiB of 3.0 MiB; 4 move (copy 3, freeze 1); a has 2048, b has 2048, c has 0
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// A plan is printed by groups, and in JSON by slots.
func TestPlannedMoves(t *testing.T) {
	p := Moved{DryRun: true, Result: cluster.Result{Moves: 3, Bytes: 6 << 10}, Plan: []PlannedMove{
		{placement.Part{Slot: 7}, "a", "c", 1 << 10}, {placement.Part{Slot: 8}, "b", "c", 2 << 10}, {placement.Part{Slot: 9}, "a", "c", 3 << 10},
	}}
	const want = "would move 3 parts (6.0 KiB)\n  a -> c: 2 parts, 4.0 KiB\n  b -> c: 1 parts, 2.0 KiB\n"
	if got := p.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b, err := json.Marshal(Moved{DryRun: true, Result: cluster.Result{Moves: 1, Bytes: 5}, Plan: []PlannedMove{{placement.Part{Slot: 7}, "a", "c", 5}}})
	if want := `{"dry_run":true,"moves":1,"bytes":5,"plan":[{"slot":7,"from":"a","to":"c","bytes":5}],"map":null}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}
