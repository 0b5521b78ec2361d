package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store"
)

func newStatus(a *App) *cobra.Command {
	var f clientFlags
	var brief bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show how a server is doing, or each of several groups",
		Example: `  catfish status
  catfish status --brief
  catfish status --server 10.0.0.5:7119 --json`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if brief && f.json {
				return BadUsage("--brief and --json, want one of them")
			}
			cl, err := f.dialBusy(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			st, err := cl.Stats(cmd.Context())
			if err != nil {
				return err
			}
			if f.json {
				return a.json(st)
			}
			if brief {
				return a.Printf("%s", briefText(st))
			}
			return a.Printf("%s", statusText(st, cl.Info()))
		},
	}
	f.register(c)
	f.registerJSON(c)
	c.Flags().BoolVar(&brief, "brief", false, "a few lines: the server, its memory, where features are kept, and how much there is")
	return c
}

// briefText answers the first questions: does the server run, how full is it, what does
// it store, and what is wrong.
func briefText(st catfish.ServerStats) string {
	var b strings.Builder
	printTo := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	if len(st.Groups) > 0 {
		printTo("%s", groupsText(st, briefText))
		printTo("memory       %s\n", memoryText(st.Memory))
		printTo("collections  %s\n", collectionsText(st))
		return b.String()
	}
	connections := 0
	for _, t := range st.Transports {
		connections += t.Connections
	}
	printTo("server       %s, version %s, up %v, %d connections over rings\n", st.Addr, st.Version, time.Duration(st.Uptime)*time.Second, connections)
	printTo("memory       %s\n", memoryText(st.Memory))
	if st.Store != nil {
		printTo("kept         %s\n", storeText(st.Store))
	}
	printTo("collections  %s\n", collectionsText(st))
	for _, u := range st.Budgets {
		if u.Refused+u.Cut > 0 {
			printTo("refused      %s\n", budgetText(u))
		}
	}
	return b.String()
}

// groupsText has the lines of each group, and a head for what is of all.
func groupsText(st catfish.ServerStats, text func(catfish.ServerStats) string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(st.Groups)) {
		fmt.Fprintf(&b, "group %s\n", name)
		for line := range strings.Lines(text(*st.Groups[name])) {
			b.WriteString("  " + line)
		}
	}
	if m := st.Map; m != nil {
		b.WriteString(mapText(m))
	}
	fmt.Fprintf(&b, "all %d groups, %.1f s of processors used, of %g cores\n", len(st.Groups), st.CPUSeconds, st.Cores)
	return b.String()
}

// mapText says which group has how many slots, and what moves.
func mapText(m *catfish.StoreMap) string {
	var b strings.Builder
	fmt.Fprintf(&b, "map of version %d, epoch %d:", m.Version, m.Epoch)
	for i, g := range m.Groups {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " group %s has %d slots", g.Name, g.Slots)
		if g.Frozen > 0 {
			fmt.Fprintf(&b, " (%d frozen)", g.Frozen)
		}
	}
	b.WriteByte('\n')
	for _, v := range m.Moves {
		fmt.Fprintf(&b, "move of %d from %s to %s: %s\n", v.Parts, v.From, v.To, v.Step)
	}
	return b.String()
}

func collectionsText(st catfish.ServerStats) string {
	records := 0
	for _, r := range st.Records {
		records += r.Index.Items
	}
	loading := ""
	if n := len(st.Loading); n > 0 {
		loading = fmt.Sprintf(", %d of them loading", n)
	}
	return fmt.Sprintf("%d with %d objects%s", len(st.Collections)+len(st.Features)+len(st.Records), allObjects(st)+records, loading)
}

func memoryText(m catfish.MemoryStats) string {
	full := ""
	if m.Full {
		full = ": FULL, writes and connections over rings are refused"
	}
	return fmt.Sprintf("%s of %s%s", sizeText(m.Resident), sizeText(m.Limit), full)
}

// budgetText formats the clients' use of one resource.
func budgetText(u catfish.BudgetStats) string {
	amount := func(n int64) string { return fmt.Sprint(n) }
	if strings.HasPrefix(u.Name, "bytes") {
		amount = sizeText
	}
	s := fmt.Sprintf("%s: %s of %s", u.Name, amount(u.Used), amount(u.Limit))
	if u.Share < u.Limit {
		s += fmt.Sprintf(", %s for one source", amount(u.Share))
	}
	s += fmt.Sprintf("; %d sources", u.Sources)
	if u.Refused+u.Cut > 0 {
		s += fmt.Sprintf("; %d refused, %d connections cut", u.Refused, u.Cut)
	}
	return s
}

// usedText is the memory of a collection, and its limit, unless that is the server's
// limit, except for a rest that is less than a node.
func usedText(used, most, server int64) string {
	const mib = 1 << 20
	if server-most >= mib {
		return fmt.Sprintf("%.1f of %.1f MiB used", float64(used)/mib, float64(most)/mib)
	}
	return fmt.Sprintf("%.1f MiB used", float64(used)/mib)
}

// storeText says where features are stored, and how many clients watch them.
func storeText(s *store.Stats) string {
	text := "nowhere, features are in memory alone (no --data-dir)"
	if d := s.Disk; d != nil {
		text = fmt.Sprintf("in %s, sync %s, revision %d, log %s", d.Dir, d.Sync, d.Revision, sizeText(d.LogBytes))
		if d.ReadOnly != "" {
			text += ", READ-ONLY: " + packageNames.ReplaceAllString(d.ReadOnly, "$1")
		}
	}
	return fmt.Sprintf("%s; %d watchers of %d areas", text, s.Watchers, s.WatchedAreas)
}

// allObjects returns the number of boxes and features.
func allObjects(st catfish.ServerStats) (n int) {
	for _, c := range st.Collections {
		n += c.Len
	}
	for _, f := range st.Features {
		n += f.Records.Index.Items
	}
	return n
}

// statusText formats the content of the JSON for people.
func statusText(st catfish.ServerStats, info catfish.ConnInfo) string {
	var b strings.Builder
	printTo := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	if len(st.Groups) > 0 {
		printTo("%s", groupsText(st, func(of catfish.ServerStats) string { return statusText(of, catfish.ConnInfo{}) }))
		printTo("connected   by %s (%s)\n", info.Transport, info.Reason)
		printTo("memory      %s\n", memoryText(st.Memory))
		printTo("%s", allCollectionsText(st))
		return b.String()
	}
	printTo("server      %s, version %s, boot id %016x, up %s\n", st.Addr, st.Version,
		st.BootID, (time.Duration(st.Uptime) * time.Second).String())
	if info.Transport != "" {
		printTo("connected   by %s (%s)\n", info.Transport, info.Reason)
	}
	if info.Device != "" {
		printTo("device      %s\n", info.Device)
	}
	printTo("processor   %.1f s used, of %g cores; heartbeat every %v\n",
		st.CPUSeconds, st.Cores, time.Duration(st.Heartbeat*float64(time.Second)))
	for _, t := range st.Transports {
		requests, sleeps, busy := t.Ended.Requests, t.Ended.Sleeps, t.Ended.Busy
		for _, w := range t.Workers {
			requests += w.Requests
			sleeps += w.Sleeps
			busy += w.Busy
		}
		printTo("transport   %s (%s): %d connections, %d workers, %d requests, %.1f s busy, %d sleeps\n",
			t.Transport, t.Detail, t.Connections, len(t.Workers), requests, busy, sleeps)
	}
	printTo("transport   tcp (base line): %d requests\n", st.TCPRequests)
	printTo("memory      %s\n", memoryText(st.Memory))
	if st.Store != nil {
		printTo("kept        %s\n", storeText(st.Store))
	}
	for _, u := range st.Budgets {
		printTo("budget      %s\n", budgetText(u))
	}
	if st.Recording != nil {
		printTo("recording   %s\n", recordText(*st.Recording))
	}
	printTo("%s", allCollectionsText(st))
	return b.String()
}

// allCollectionsText has a line for each collection.
func allCollectionsText(st catfish.ServerStats) string {
	var b strings.Builder
	printTo := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	for _, name := range slices.Sorted(maps.Keys(st.Collections)) {
		c := st.Collections[name]
		if slices.Contains(st.Loading, name) {
			printTo("collection  %s: loading, not ready for clients\n", name)
		}
		printTo("collection  %s: %d objects, height %d, nodes per level %v, node %d B, %s, %d searches\n",
			name, c.Len, c.Height, c.Nodes, c.NodeBytes, usedText(c.UsedBytes, c.SlabBytes, st.Memory.Limit), c.Searches)
	}
	for _, name := range slices.Sorted(maps.Keys(st.Features)) {
		f := st.Features[name]
		if slices.Contains(st.Loading, name) {
			printTo("features    %s: loading, not ready for clients\n", name)
		}
		printTo("features    %s: %d features (%v), height %d, %d searches, %d puts, %d deletes, %d expired, %s used\n",
			name, f.Records.Index.Items, f.Space, f.Tree.Height, f.Tree.Searches,
			f.Records.Puts, f.Records.Deletes, f.Records.Expired, sizeText(f.Tree.UsedBytes+f.Records.UsedBytes))
	}
	for _, name := range slices.Sorted(maps.Keys(st.Records)) {
		r := st.Records[name]
		printTo("records     %s: %d records, %d puts, %d deletes, %d expired, key index %.2f full, %s, %.1f of it by dead records\n",
			name, r.Index.Items, r.Puts, r.Deletes, r.Expired, r.Load,
			usedText(r.UsedBytes, r.SlabBytes, st.Memory.Limit), float64(r.Records.RetiredBytes)/(1<<20))
		if c := r.Cache; c.LimitBytes > 0 {
			printTo("  cache      %s of %s, %d evicted, %d gets found a record, %d none\n",
				sizeText(int64(c.Bytes)), sizeText(int64(c.LimitBytes)), c.Evicted, c.Hits, c.Misses)
		}
		for i, s := range r.Shards {
			printTo("  shard %d    %d records, %d requests by its owner, %d by others\n", i, s.Records, s.Owned, s.Strayed)
		}
	}
	return b.String()
}
