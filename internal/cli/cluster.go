package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/wire"
)

// coordinatorFlags say where the coordinators are.
type coordinatorFlags struct {
	addrs  []string
	access coordinatorAccess
}

func (f *coordinatorFlags) register(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.addrs, "coordinators", nil, "host:port of the coordinators (catfish coordinator, or an etcd)")
	f.access.register(c.Flags())
}

func (f *coordinatorFlags) dial() (*coord.Client, error) {
	if len(f.addrs) == 0 {
		return nil, BadUsage("--coordinators is missing: host:port of each of them")
	}
	var g daemon.Group
	if err := f.access.set(&g); err != nil {
		return nil, err
	}
	var t *tls.Config
	if g.TLS.CA != "" {
		var err error
		if t, err = certs.Client(g.TLS.CA, g.TLS.Cert, g.TLS.Key); err != nil {
			return nil, err
		}
	}
	return coord.Dial(coord.Options{Addrs: f.addrs, TLS: t, User: g.User, Password: g.Password, Prefix: g.Prefix})
}

// clusterTime bounds a command that waits for coordinators and members.
const clusterTime = 10 * time.Second

// Cluster is the state of all groups, as 'cluster status --json' prints it.
type Cluster struct {
	Groups []ClusterGroup `json:"groups"`
	Map    *ClusterMap    `json:"map,omitempty"` // null: each group has a store of its own
	// Planner begins moves without a command; null: none does.
	Planner *ClusterPlanner `json:"planner,omitempty"`
}

// ClusterPlanner is the planner that begins moves without a command, in the latest term.
type ClusterPlanner struct {
	Name string `json:"name"`
	Term uint64 `json:"term"`
	// Planned is when the last plan began, by the planner's clock.
	Planned time.Time `json:"planned,omitzero"`
}

// ClusterGroup is one group.
type ClusterGroup struct {
	Name      string          `json:"name"`
	Term      uint64          `json:"term"`
	Primary   string          `json:"primary"`
	InSync    []string        `json:"in_sync"`
	MinInSync int             `json:"min_in_sync"`
	Members   []ClusterMember `json:"members"`
	// Requests a second for ids that the primary answers, of the last minutes, and their share of those of
	// all groups; 0: there is one group, or it is not known. One-sided reads are not in it.
	Requests float64 `json:"requests"`
	Share    float64 `json:"requests_share"`
}

// ClusterMember is one member. Its role is "away" if it does not answer; a member that
// answers has its own view of the group.
type ClusterMember struct {
	Node     string `json:"node"`
	Addr     string `json:"addr"`
	Role     string `json:"role"`
	Revision uint64 `json:"revision"`
	Behind   uint64 `json:"behind"` // revisions that readers of the primary see, and its own do not
	InSync   bool   `json:"in_sync"`
	// Lane is how the log comes from the primary.
	Lane *wire.LaneHello `json:"lane,omitempty"`
	// Copy is that of the store, which it sends to a new member.
	Copy  *wire.CopyHello `json:"copy,omitempty"`
	Error string          `json:"error,omitempty"` // why it is away

	requests float64
}

func newCluster(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Show and change groups of servers",
		Long: `Show and change groups of servers, whose state is in coordinators. A group has a
primary, which takes the writes, and secondaries, which have them too before they are
acknowledged. docs/cluster.md begins with three servers on one machine.`,
		Example: `  catfish cluster status --coordinators 127.0.0.1:7120
  catfish cluster switch n2 --group g --coordinators 127.0.0.1:7120`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newClusterInit(a), newClusterPlaceBoxes(a), newClusterSplit(a), newClusterAdd(a), newClusterWeigh(a), newClusterRebalance(a), newClusterDrain(a), newClusterMove(a), newClusterUndo(a),
		newClusterStatus(a, "status", "Show the groups and their members"),
		newClusterStatus(a, "members", "List the members: group, node, address, role"),
		newClusterChange(a, "switch", "Make an in-sync member the primary; no write fails", "is the primary", switchTo),
		newClusterChange(a, "remove", "Take a member out of its group", "is no member any more", node.Remove),
		newClusterChange(a, "promote", "Make a member the primary by force: writes that it does not have are LOST", "is the primary, and the only member in sync", node.Promote))
	return c
}

func newClusterStatus(a *App, name, short string) *cobra.Command {
	var f coordinatorFlags
	var asJSON bool
	c := &cobra.Command{
		Use: name, Short: short,
		Example: "  catfish cluster " + name + " --coordinators 10.0.0.1:7120,10.0.0.2:7120,10.0.0.3:7120",
		Args:    Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := f.dial()
			if err != nil {
				return err
			}
			defer cl.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), clusterTime)
			defer cancel()
			state, err := clusterState(ctx, cl)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.json(state)
			case name == "members":
				return a.Printf("%s", membersText(state))
			}
			return a.Printf("%s", clusterText(state))
		},
	}
	f.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// helloTime bounds the wait for a member's answer.
const helloTime = time.Second

// clusterState asks the coordinators, and each member.
func clusterState(ctx context.Context, cl *coord.Client) (Cluster, error) {
	groups, err := node.Groups(ctx, cl)
	state := Cluster{Groups: []ClusterGroup{}}
	if err != nil {
		return state, err
	}
	m, err := cluster.Read(ctx, cl)
	if err != nil {
		return state, err
	}
	state.Map = clusterMap(m)
	p, err := cluster.ReadPlanner(ctx, cl)
	if err != nil {
		return state, err
	}
	if p != nil && p.ID != "" {
		state.Planner = &ClusterPlanner{p.Name, p.Term, p.Planned}
	}
	var all sync.WaitGroup
	for _, g := range groups {
		of := ClusterGroup{Name: g.Name, Term: g.Term, Primary: g.Primary, InSync: g.InSync, MinInSync: g.MinInSync, Members: make([]ClusterMember, len(g.Members))}
		slices.Sort(of.InSync)
		for i, m := range g.Members {
			to := &of.Members[i]
			*to = ClusterMember{Node: m.Name, Addr: m.Addr, Role: "away", InSync: slices.Contains(g.InSync, m.Name)}
			all.Go(func() {
				h, err := askMember(ctx, g.Name, &m)
				if err != nil {
					to.Error = err.Error()
					return
				}
				to.Role, to.Revision, to.Lane, to.Copy, to.requests = h.Role, h.Revision, h.Lane, h.Copy, h.Requests
			})
		}
		state.Groups = append(state.Groups, of)
	}
	all.Wait()
	state.measure()
	return state, nil
}

var errOther = errors.New("another server is at this address")

// askMember asks a member what it knows of its group.
func askMember(ctx context.Context, group string, m *node.Member) (*wire.GroupHello, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	switch h, err := wire.AskHello(ctx, m.Addr); {
	case err != nil:
		return nil, err
	case h.Group == nil || h.Group.Name != group || h.Group.Node != m.Name:
		return nil, errOther
	default:
		return h.Group, nil
	}
}

// measure compares members with their primary, and the requests of groups.
func (c *Cluster) measure() {
	sum := 0.0
	for i := range c.Groups {
		g := &c.Groups[i]
		g.measure()
		for _, m := range g.Members {
			if m.Node == g.Primary {
				g.Requests = m.requests
			}
		}
		sum += g.Requests
	}
	for i := range c.Groups {
		if sum > 0 {
			c.Groups[i].Share = c.Groups[i].Requests / sum
		}
	}
}

// measure compares members that answer with the primary.
func (g *ClusterGroup) measure() {
	i := slices.IndexFunc(g.Members, func(m ClusterMember) bool { return m.Node == g.Primary })
	if i < 0 || g.Members[i].Error != "" {
		return
	}
	for j := range g.Members {
		if m := &g.Members[j]; m.Error == "" {
			m.Behind = g.Members[i].Revision - min(g.Members[i].Revision, m.Revision)
		}
	}
}

func clusterText(c Cluster) string {
	if len(c.Groups) == 0 {
		return c.Map.text() + "no groups: 'catfish serve --coordinators ... --group NAME --node NAME' makes one\n"
	}
	var b strings.Builder
	b.WriteString(c.Map.text())
	if p := c.Planner; p != nil {
		fmt.Fprintf(&b, "planner %s (term %d), last plan %s\n", p.Name, p.Term, p.Planned.Format(time.RFC3339))
	}
	for _, g := range c.Groups {
		fmt.Fprintf(&b, "group %s: term %d, primary %s, %d of %d in sync (writes need %d)", g.Name, g.Term, cmp.Or(g.Primary, "none yet"), len(g.InSync), len(g.Members), g.MinInSync)
		if g.Share > 0 {
			fmt.Fprintf(&b, ", %.1f requests/s (%.0f%%)", g.Requests, 100*g.Share)
		}
		b.WriteByte('\n')
		for _, m := range g.Members {
			in := "in sync"
			if !m.InSync {
				in = "NOT in sync"
			}
			fmt.Fprintf(&b, "  %-12s %-22s %-10s %-12s revision %d", m.Node, m.Addr, m.Role, in, m.Revision)
			if m.Behind > 0 {
				fmt.Fprintf(&b, ", %d behind", m.Behind)
			}
			if l := m.Lane; l != nil && l.RingBytes > 0 {
				fmt.Fprintf(&b, "  log over %s, ring of %d KiB (%s)", l.Transport, l.RingBytes>>10, l.Reason)
			} else if l != nil {
				fmt.Fprintf(&b, "  log over %s, no ring (%s)", l.Transport, l.Reason)
			}
			if y := m.Copy; y != nil {
				fmt.Fprintf(&b, "  sends a copy to %s over %s, %d of %d MiB (%s)", y.To, y.Transport, y.Sent>>20, y.Bytes>>20, y.Reason)
			}
			if m.Error != "" {
				fmt.Fprintf(&b, "  (%s)", m.Error)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func membersText(c Cluster) string {
	var b strings.Builder
	for _, g := range c.Groups {
		for _, m := range g.Members {
			fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", g.Name, m.Node, m.Addr, m.Role)
		}
	}
	return b.String()
}

func newClusterChange(a *App, name, short, done string, change func(context.Context, node.Decider, string, string) error) *cobra.Command {
	var f coordinatorFlags
	var group string
	c := &cobra.Command{
		Use: name + " NODE", Short: short,
		Example: "  catfish cluster " + name + " n2 --group g --coordinators 10.0.0.1:7120",
		Args:    Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := f.dial()
			if err != nil {
				return err
			}
			defer cl.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), clusterTime)
			defer cancel()
			if err := change(ctx, cl, group, args[0]); err != nil {
				return err
			}
			return a.Printf("%s %s of group %s\n", args[0], done, group)
		},
	}
	f.register(c)
	c.Flags().StringVar(&group, "group", "g", "name of the group")
	return c
}

// switchTo makes a member that answers the primary. One that does not can be in sync still: the
// primary has not noticed yet, or is away itself. To wait for it would end at clusterTime.
func switchTo(ctx context.Context, d node.Decider, group, to string) error {
	v, err := d.Get(ctx, node.Key(group))
	if err != nil {
		return err
	}
	if v.Version != 0 { // else Switch says that there is no group
		g, err := node.Parse(v)
		if err != nil {
			return err
		}
		if m := g.Member(to); m != nil {
			if _, err := askMember(ctx, group, m); err != nil {
				return fmt.Errorf("%w: %q of group %q does not answer: %w", node.ErrRefused, to, group, err)
			}
		}
	}
	return node.Switch(ctx, d, group, to)
}
