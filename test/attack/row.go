package attack

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/catfish-index/catfish/catfish"
)

// Row is the result of attacks.
type Row struct {
	Attack   string  `json:"attack"`
	Small    bool    `json:"small,omitempty"`
	SameHost bool    `json:"same_host,omitempty"`
	Objects  int64   `json:"objects"`
	Seconds  float64 `json:"seconds"`

	Clients []ClientRow `json:"clients"`
	// The server's process: the maximum of each value, and the values at the end.
	Alone  Sample `json:"alone"`
	Beside Sample `json:"beside"`
	After  Sample `json:"after"`
	// GivenBack is after how many seconds the server held little more than
	// before the attack; negative: it did not in time.
	GivenBack float64                   `json:"given_back_s"`
	Limit     int64                     `json:"memory_limit"`
	Budgets   []catfish.BudgetStats     `json:"budgets"`
	Attackers map[string]map[string]int `json:"attackers"` // what each counted
	Died      string                    `json:"died,omitempty"`
}

// ClientRow is one honest client.
type ClientRow struct {
	Name   string   `json:"name"`
	Alone  Part     `json:"alone"`
	Beside Part     `json:"beside"`
	After  Part     `json:"after"`
	Errors []string `json:"errors,omitempty"` // some of them
}

// cut ends a part of the measurement.
func (r *Row) cut(clients []*honest, part func(*ClientRow) *Part) {
	if r.Clients == nil {
		r.Clients = make([]ClientRow, len(clients))
	}
	for i, h := range clients {
		c := &r.Clients[i]
		c.Name = h.name
		p, errs := h.record.cut()
		if part == nil { // not measured, but a wrong answer still counts
			c.Alone.Wrong += p.Wrong
			continue
		}
		*part(c) = p
		c.Errors = append(c.Errors, errs...)
	}
}

// Limits of the promises.
const (
	// logBurst and logRate, in bytes and bytes a second: of each message that a
	// peer can cause, twenty at once and one a second are logged. There are
	// some twenty such messages, of 300 bytes.
	logBurst = 128 << 10
	logRate  = 8 << 10
	// mostSlower is how much slower the honest clients' p99 may be beside
	// requests that take long, and leastRate the share of their rate that they
	// keep beside any attack.
	mostSlower = 3
	leastRate  = 0.5
	// fewestDials is the share of new clients that connect.
	fewestDials = 0.9
)

// Broken returns the promises that do not hold. timed is whether times and
// rates are judged, too: they are meaningless on a machine that others use.
func (r *Row) Broken(attacks []Attack, timed bool) (broken []string) {
	say := func(format string, a ...any) { broken = append(broken, fmt.Sprintf(format, a...)) }
	if r.Died != "" {
		say("%s", r.Died)
		return broken
	}
	for _, a := range attacks {
		if r.Attackers[a.Name][a.shows] == 0 {
			say("%s did nothing: %v", a.Name, r.Attackers[a.Name])
		}
	}
	for i := range r.Clients {
		c := &r.Clients[i]
		if n := c.Alone.Wrong + c.Beside.Wrong + c.After.Wrong; n > 0 {
			say("%s: %d wrong answers: %s", c.Name, n, strings.Join(c.Errors, "; "))
		}
		if timed {
			r.judgeTimes(c, attacks, say)
		}
	}
	// Between two samples of the memory, and while it is given back, the server
	// may hold an eighth more than the limit.
	if most := r.Limit + r.Limit/8; r.Limit > 0 && r.Beside.Peak > most {
		say("%d bytes resident, limit %d and an eighth of it", r.Beside.Peak, r.Limit)
	}
	if log, most := r.Beside.LogBytes-r.Alone.LogBytes, int64(logBurst+logRate*r.Seconds); log > most {
		say("%d bytes of log in %.0f s, want at most %d", log, r.Seconds, most)
	}
	keeps := slices.ContainsFunc(attacks, func(a Attack) bool { return a.Keeps })
	if r.GivenBack < 0 && !keeps {
		say("not given back: %d bytes resident, %d before; %d descriptors, %d before",
			r.After.Resident, r.Alone.Resident, r.After.Descriptors, r.Alone.Descriptors)
	}
	return broken
}

func (r *Row) judgeTimes(c *ClientRow, attacks []Attack, say func(string, ...any)) {
	if c.Beside.Rate < leastRate*c.Alone.Rate {
		say("%s: %.1f requests/s, %.1f alone: %s", c.Name, c.Beside.Rate, c.Alone.Rate, strings.Join(c.Errors, "; "))
	}
	slow := len(attacks) == 1 && attacks[0].Slow
	if slow && c.Beside.P99 > mostSlower*c.Alone.P99 {
		say("%s: p99 %.0f us, %.0f alone", c.Name, c.Beside.P99, c.Alone.P99)
	}
	if all := c.Beside.Rate*r.Seconds + float64(c.Beside.Errors); c.Name == "new clients" &&
		c.Beside.Rate*r.Seconds < fewestDials*all {
		say("%d of %.0f new clients failed: %s", c.Beside.Errors, all, strings.Join(c.Errors, "; "))
	}
}

// Print writes a row for people.
func (r *Row) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	size := "full"
	if r.Small {
		size = "small"
	}
	fmt.Fprintf(t, "%s, %s, %d objects, %.0f s\n", r.Attack, size, r.Objects, r.Seconds)
	fmt.Fprintf(t, "client\tper s\talone\tp50 us\talone\tp99 us\talone\terrors\twrong\n")
	for i := range r.Clients {
		c := &r.Clients[i]
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t%d\n", c.Name, c.Beside.Rate, c.Alone.Rate,
			c.Beside.P50, c.Alone.P50, c.Beside.P99, c.Alone.P99, c.Beside.Errors, c.Alone.Wrong+c.Beside.Wrong+c.After.Wrong)
	}
	const mib = 1 << 20
	fmt.Fprintf(t, "server: resident %d MiB, alone %d, peak %d, after %d, limit %d; given back in %.1f s\n",
		r.Beside.Resident/mib, r.Alone.Resident/mib, r.Beside.Peak/mib, r.After.Resident/mib, r.Limit/mib, r.GivenBack)
	fmt.Fprintf(t, "descriptors %d, alone %d; threads %d, alone %d; log %d bytes\n",
		r.Beside.Descriptors, r.Alone.Descriptors, r.Beside.Threads, r.Alone.Threads, r.Beside.LogBytes-r.Alone.LogBytes)
	for _, b := range r.Budgets {
		if b.Refused+b.Cut > 0 {
			fmt.Fprintf(t, "%s: %d refused, %d cut; %d of %d in use\n", b.Name, b.Refused, b.Cut, b.Used, b.Limit)
		}
	}
	for name, counts := range r.Attackers {
		fmt.Fprintf(t, "attackers: %s: %v\n", name, counts)
	}
	for i := range r.Clients {
		for _, e := range r.Clients[i].Errors {
			fmt.Fprintf(t, "%s: %s\n", r.Clients[i].Name, e)
		}
	}
	fmt.Fprintf(t, "%s\n", r.summary())
	return t.Flush()
}
