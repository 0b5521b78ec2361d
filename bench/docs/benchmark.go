package docs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind says what the commands of a benchmark print, and so the form of its
// table.
type Kind int

// The kinds of benchmarks.
const (
	Runs  Kind = iota // rows of catfish bench run
	Loads             // rows of catfish replay, for the loading times
	Trees             // the table of make bench-tree
	Idles             // rows of catfish bench idle
)

// Benchmark is one section of the page with one table.
type Benchmark struct {
	Name     string // of its results in the store, and of its figure
	Title    string
	Text     string
	Kind     Kind
	Commands []string
	Figure   bool // draw throughput over the number of clients
}

// Sizes are the sizes and durations of the benchmarks.
type Sizes struct {
	Objects  int
	Queries  int // of a replay
	Clients  []int
	Warmup   time.Duration
	Duration time.Duration
	Repeat   int // runs, of which the tables hold medians
	// Idle is the number of idle connections, over the network and over shared
	// memory, of which each takes two descriptors at the server.
	Idle, IdleLocal int
	// Tree are variables of make bench-tree.
	Tree string
}

// Full has the sizes of the page: some twenty minutes on two cores.
var Full = Sizes{
	Objects: 2_000_000, Queries: 10_000, Clients: []int{1, 8, 64},
	Warmup: 700 * time.Millisecond, Duration: time.Second, Repeat: 3,
	Idle: 10_000, IdleLocal: 7_000, // A process with 20,000 descriptors has no room for more.
	Tree: "OBJECTS=2000000 COUNT=3 BENCHTIME=300ms",
}

// Quick is for a test: every command, but no meaningful result.
var Quick = Sizes{
	Objects: 2000, Queries: 50, Clients: []int{1, 2},
	Warmup: 10 * time.Millisecond, Duration: 20 * time.Millisecond, Repeat: 1,
	Idle: 10, IdleLocal: 10,
	Tree: "OBJECTS=2000 COUNT=1 BENCHTIME=1ms",
}

// Step is one process to run: one run of a command.
type Step struct {
	Key     string // in the store
	Command string // as the page prints it
	// Args is the command with the flag that makes it print its rows.
	Args []string
}

// commands are the benchmark's commands in full.
func (b *Benchmark) commands(s Sizes) []string {
	var all []string
	for _, c := range b.Commands {
		switch b.Kind {
		case Runs:
			c += fmt.Sprintf(" --objects %d --warmup %v --duration %v --repeat %d",
				s.Objects, s.Warmup, s.Duration, s.Repeat)
		case Loads:
			c += fmt.Sprintf(" --objects %d --query-count %d", s.Objects, s.Queries)
		case Trees:
			c += " " + s.Tree
		case Idles:
			c = strings.NewReplacer("{idle}", strconv.Itoa(s.Idle), "{local}", strconv.Itoa(s.IdleLocal)).Replace(c) +
				fmt.Sprintf(" --duration %v", 10*s.Duration)
		}
		if !strings.Contains(c, "{clients}") {
			all = append(all, c)
			continue
		}
		for _, n := range s.Clients {
			all = append(all, strings.ReplaceAll(c, "{clients}", strconv.Itoa(n)))
		}
	}
	return all
}

// Steps are all processes of the benchmark. A command without --repeat runs
// several times.
func (b *Benchmark) Steps(s Sizes) []Step {
	var steps []Step
	for _, c := range b.commands(s) {
		args, rounds := Words(c), 1
		if b.Kind != Trees {
			args = append(args, "--json", "-")
		}
		if b.Kind == Loads {
			rounds = s.Repeat
		}
		for i := range rounds {
			steps = append(steps, Step{Key: fmt.Sprintf("%s: %s #%d", b.Name, c, i+1), Command: c, Args: args})
		}
	}
	return steps
}

// Words splits a command like a shell that knows spaces and single quotes
// only; the list has no others.
func Words(command string) []string {
	var words []string
	var w strings.Builder
	quoted, any := false, false
	for _, r := range command {
		switch {
		case r == '\'':
			quoted, any = !quoted, true
		case r == ' ' && !quoted:
			if any {
				words = append(words, w.String())
			}
			w.Reset()
			any = false
		default:
			w.WriteRune(r)
			any = true
		}
	}
	if any {
		words = append(words, w.String())
	}
	return words
}
