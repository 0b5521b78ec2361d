package policies

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cell is a workload, run at once by one call of a candidate's binary.
type Cell struct {
	Name      string // unique; begins with "real" or "simulated"
	Simulated bool
	Gbits     int // per second, of a network between namespaces; 0: none
	// Args of the binary, without --objects, --scheme, --json and --seed. In a
	// network they are flags of bench run, which has none for networks.
	Args    []string
	Metrics []Metric
}

// Metric is a number of a cell, a line of the table.
type Metric struct {
	Label string // after the cell's name; unique in the cell
	Unit  string
	Of    quantity
	Row   int // of the rows that the call prints
	// From and To bound throughputOver, since the step.
	From, To time.Duration
	Lower    bool // lower is better: ratios are inverted
	// Aside is shown, but not part of the means: another number of the same
	// run is.
	Aside bool

	hidden bool // by Select
}

// quantity is what a Metric reads from a row.
type quantity int

const (
	throughput     quantity = iota // of the whole run
	latency99                      // 99th percentile
	throughputOver                 // some time after the load's step
)

// Line is the name of a metric of the cell in the table and --cells.
func (c *Cell) Line(m *Metric) string {
	if m.Label == "" {
		return c.Name
	}
	return c.Name + ", " + m.Label
}

// Select returns the cells whose lines match, and shows these lines only; all
// for an empty pattern. No match is an error that wraps ErrUsage.
func Select(cells []Cell, pattern string) ([]Cell, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%w: cells: %w", ErrUsage, err)
	}
	var some []Cell
	for _, c := range cells {
		// All metrics are kept, since a later run may show the others.
		c.Metrics = slices.Clone(c.Metrics)
		shown := 0
		for i := range c.Metrics {
			m := &c.Metrics[i]
			m.hidden = !re.MatchString(c.Line(m))
			shown += btoi(!m.hidden)
		}
		if shown > 0 {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("%w: no cell matches %q", ErrUsage, pattern)
	}
	return some, nil
}

// Limits of one call: far beyond what it takes on a busy machine.
const (
	realLimit      = 5 * time.Minute
	simulatedLimit = 40 * time.Minute
)

func (c *Cell) limit() time.Duration {
	if c.Simulated {
		return simulatedLimit
	}
	return realLimit
}

// The upper bounds of a quick run: seconds for all, the same code.
const (
	// QuickObjects is how many objects a quick run has, unless --objects
	// says otherwise.
	QuickObjects  = 20_000
	quickClients  = 200
	quickDuration = 100 * time.Millisecond
	quickWarmup   = 50 * time.Millisecond
)

// sized returns the cell's arguments with this number of objects. Quick makes
// them short; a load step keeps its times, which its metrics name.
func (c *Cell) sized(objects int, quick bool) []string {
	args := slices.Clone(c.Args)
	args = append(args, "--objects", strconv.Itoa(objects))
	step := args[1] == "step" || slices.Contains(args, "--join-at")
	if !quick {
		return args
	}
	for i, a := range args[:len(args)-1] {
		value := &args[i+1]
		switch {
		case a == "--duration" && !step:
			*value = atMost(*value, quickDuration)
		case a == "--warmup":
			*value = atMost(*value, quickWarmup)
		case a == "--clients":
			if n, err := strconv.Atoi(*value); err == nil && n > quickClients && !step {
				*value = strconv.Itoa(quickClients)
			}
		}
	}
	return args
}

// atMost shortens a duration of our own cells.
func atMost(text string, most time.Duration) string {
	if d, err := time.ParseDuration(text); err == nil && d <= most {
		return text
	}
	return most.String()
}

// command is the call for a candidate.
func (c *Cell) command(scheme string, args []string, round int) []string {
	args = append(slices.Clone(args), "--scheme", scheme)
	if c.Simulated {
		args = append(args, "--seed", strconv.Itoa(round))
	}
	return append(args, "--json", "-")
}

// String is what --list prints.
func (c *Cell) String() string {
	var b strings.Builder
	for i := range c.Metrics {
		m := &c.Metrics[i]
		if m.hidden {
			continue
		}
		fmt.Fprintf(&b, "%s (%s%s%s)\n", c.Line(m), m.Unit, when(m.Lower, ", less is better"), when(m.Aside, ", not in the means"))
	}
	where := ""
	if c.Gbits > 0 {
		where = fmt.Sprintf(", through a network of %d Gbit/s", c.Gbits)
	}
	fmt.Fprintf(&b, "    catfish %s%s\n", strings.Join(c.Args, " "), where)
	return b.String()
}

func when(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func btoi(is bool) int {
	if is {
		return 1
	}
	return 0
}
