package paper

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench"
)

// What docs/research/paper.md says of this machine is computed of the points that are kept in
// publishedFile, a line of which is a point: the medians of its rounds, and of its throughput
// the least and the most. After a measurement
//
//	go test ./paper -run Published -args -measured DIR,DIR -write
//
// keeps the points of these directories of `catfish bench paper --out`, and writes the
// page's cells again.
var (
	measured = flag.String("measured", "", "directories of points to publish, comma-separated")
	write    = flag.Bool("write", false, "write docs/research/paper.md's measured cells")
)

const (
	publishedFile = "../../docs/research/paper-points.csv"
	publishedPage = "../../docs/research/paper.md"
	notPublished  = "not in the published rows"
)

var publishedHead = []string{"preset", "experiment", "panel", "network", "transport", "series", "clients", "rounds",
	"kops_per_s", "least", "most", "search_us", "server_cpu", "network_used", "offloaded", "cut_requests", "commit"}

// publishedColumns are the measured columns of the page's tables by their heads.
var publishedColumns = map[string]struct{ preset, name string }{
	"here: shm, TCP 1g":                  {"ours", "RDMA over shm, TCP through 1g"},
	"here: one host":                     {"ours", "host over shm"},
	"here, as the paper: one host":       {"as-paper", "host over shm"},
	"here: soft, 1g":                     {"ours", "1g over soft"},
	"here: soft, 1g (its pollers sleep)": {"ours", "1g over soft"},
	"here: TCP, 1g":                      {"ours", "1g over soft"}, // which TCP is part of
}

// keepPublished writes the file of the points of directories.
func keepPublished(t *testing.T, dirs []string) {
	rows := [][]string{publishedHead}
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, PointsFile))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var p Point
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			preset := "ours"
			if p.Settings.AsPaper {
				preset = "as-paper"
			}
			rows = append(rows, []string{preset, p.Experiment, p.Panel, p.Network.Name, p.Row.Transport, p.Series,
				strconv.Itoa(p.Row.Clients), strconv.Itoa(p.Row.Repeat), num(p.Row.OpsPerS / 1e3),
				num(slices.Min(p.Row.Runs) / 1e3), num(slices.Max(p.Row.Runs) / 1e3), num(searchUs(p)), num(p.Row.CPUUtil),
				num(LimitOf(p).Network), num(p.Row.Offload), strconv.FormatInt(p.Row.Cut, 10), p.Row.Commit})
		}
	}
	slices.SortStableFunc(rows[1:], func(a, b []string) int { return slices.Compare(a[:6], b[:6]) })
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(publishedFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// published are the columns of the kept points, by preset and name.
func published(t *testing.T) map[string]map[string]*column {
	t.Helper()
	f, err := os.Open(publishedFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || !slices.Equal(rows[0], publishedHead) {
		t.Fatalf("%s: %v, columns %q", publishedFile, err, rows[0])
	}
	points := map[string][]Point{}
	for _, r := range rows[1:] {
		network, err := ParseNetwork(r[3])
		if err != nil {
			t.Fatal(err)
		}
		num := func(at int) float64 {
			v, err := strconv.ParseFloat(r[at], 64)
			if err != nil {
				t.Fatalf("%s: %q of %q", publishedFile, publishedHead[at], r)
			}
			return v
		}
		points[r[0]] = append(points[r[0]], Point{
			Experiment: r[1], Panel: r[2], Network: network, Series: r[5],
			Row: bench.Row{Transport: r[4], Clients: int(num(6)), Figures: bench.Figures{
				OpsPerS: num(8) * 1e3, MeanUs: num(11), CPUUtil: num(12), Offload: num(14),
				NetOut: max(0, num(13)) * float64(network.Rate) / 8,
			}},
		})
	}
	by := map[string]map[string]*column{}
	for preset, p := range points {
		by[preset] = map[string]*column{}
		for _, c := range columns(p) {
			by[preset][c.String()] = c
		}
	}
	return by
}

// cell is what a column has of a row of the page.
func (c *column) cell(figures []string, what string) string {
	for _, n := range slices.Concat(Numbers, Stronger()) {
		if slices.Contains(figures, n.Figure) && strings.ReplaceAll(n.What(), " (Algorithm 1)", "") == what {
			o, ok := n.Find(c)
			switch {
			case ok:
				return o.String()
			case (n.Metric == CPUAtFull || n.Metric == NetAtBusy) && len(c.Clients(n.Experiment)) > 0:
				return "not reached"
			}
		}
	}
	for _, k := range Claims {
		if slices.Contains(figures, k.Figure) && k.Text == what {
			if v, ok := k.Judge(c); ok {
				return v.String()
			}
		}
	}
	return notPublished
}

// seriesCell is throughput in Kops/s and the server's CPU in percent, with the most clients.
func (c *column) seriesCell(figure, panel, series string) string {
	for i := range Experiments {
		e := &Experiments[i]
		clients := c.Clients(e.Name)
		if len(clients) == 0 || !slices.Contains(e.Figures, figure) {
			continue
		}
		if v, ok := c.At(e.Name, panel, series, slices.Max(clients)); ok {
			return fmt.Sprintf("%.0f (%.0f)", v.Kops, 100*v.CPU)
		}
	}
	return ""
}

// withPublished is the page with the measured cells of the kept points, and their number.
func withPublished(page string, by map[string]map[string]*column) (string, int) {
	panels := map[string]string{"power law": "power", "rea02-like": rea02}
	networks := map[string]string{"host": "host over shm", "1g": "1g over soft", "10g": "10g over soft", "40g": "40g over soft"}
	var out strings.Builder
	var figures, head []string
	filled := 0
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(line, "### Figure"); ok {
			title, _, _ = strings.Cut(strings.TrimPrefix(title, "s"), ":")
			figures = strings.Split(strings.TrimSpace(title), " and ")
		}
		cells := cellsOf(strings.TrimSpace(line))
		switch {
		case cells == nil && !strings.HasPrefix(line, "|"):
			head = nil
		case cells != nil && head == nil:
			head = cells
		case cells != nil && head[0] == "what":
			what := strings.TrimPrefix(strings.TrimPrefix(cells[0], "*claim:* "), "*stronger:* ")
			for i, h := range head {
				if at, ok := publishedColumns[h]; ok {
					cells[i] = notPublished
					if c := by[at.preset][at.name]; c != nil {
						cells[i] = c.cell(figures, what)
					}
					filled++
				}
			}
			line = "| " + strings.Join(cells, " | ") + " |\n"
		case cells != nil && len(head) > 2 && head[1] == "network" && head[2] == "`tcp`":
			figure, panel, _ := strings.Cut(cells[0], ": ")
			for i, series := range head[2:] {
				cells[i+2] = ""
				if c := by["ours"][networks[cells[1]]]; c != nil {
					cells[i+2] = c.seriesCell(figure, cmp.Or(panels[panel], panel), strings.Trim(series, "`"))
				}
				filled++
			}
			line = "| " + strings.Join(cells, " | ") + " |\n"
		}
		out.WriteString(line)
	}
	return out.String(), filled
}

// The measured cells of docs/research/paper.md are those of the kept points.
func TestPublishedPage(t *testing.T) {
	if *measured != "" {
		keepPublished(t, strings.Split(*measured, ","))
	}
	b, err := os.ReadFile(publishedPage)
	if err != nil {
		t.Fatal(err)
	}
	made, filled := withPublished(string(b), published(t))
	if filled < 2*(len(Numbers)+len(Claims))-20 {
		t.Errorf("%d measured cells in %s", filled, publishedPage)
	}
	if made == string(b) {
		return
	}
	if *write {
		if err := os.WriteFile(publishedPage, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, now := strings.Split(string(b), "\n"), strings.Split(made, "\n")
	for i := range old {
		if old[i] != now[i] {
			t.Errorf("%s:%d is not what the kept points give: go test ./paper -run Published -args -write\n%s\n%s", publishedPage, i+1, old[i], now[i])
		}
	}
}
