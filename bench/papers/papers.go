package papers

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

//go:embed *.toml
var files embed.FS

// Names are the papers, in the order of the page.
var Names = []string{"catfish", "rfp", "hydradb", "rhkv", "mongo"}

// ErrData is an error of a paper's file.
var ErrData = errors.New("papers: wrong data")

// Paper is what a file has.
type Paper struct {
	Title    string    `toml:"title"`
	About    string    `toml:"about"` // authors, year, its own page
	Sections []Section `toml:"section"`
	Numbers  []Group   `toml:"numbers"`
}

// Section is a part of a paper.
type Section struct {
	Title string `toml:"title"`
	Rows  []Row  `toml:"row"`
}

// Row is a mechanism or an experiment of a paper.
type Row struct {
	What string `toml:"what"` // in the paper
	Kind Kind   `toml:"kind"`
	Here string `toml:"here"` // the counterpart, and its file
	Flag string `toml:"flag"` // of Selectable: what selects the literal form
	Why  string `toml:"why"`  // of Deviates, Impossible and Missing
	// Of Deviates: what runs the literal form beside ours, where no option of the product does.
	Literal string `toml:"literal"`
}

// Kind says how much of a row is here.
type Kind string

// Kinds.
const (
	Faithful   Kind = "faithful"   // as printed, or stronger
	Selectable Kind = "selectable" // as printed with a flag, otherwise by default
	Deviates   Kind = "deviates"   // the same purpose in another way
	Impossible Kind = "impossible" // with what is at hand
	Missing    Kind = "not built"
)

// Kinds are all kinds, in the order of the page.
var Kinds = []Kind{Faithful, Selectable, Deviates, Impossible, Missing}

// Group is numbers of one experiment.
type Group struct {
	Title     string   `toml:"title"`
	Measured  string   `toml:"measured"`  // the command and the machine of the measured ones
	Simulated string   `toml:"simulated"` // the command of the simulated ones
	Numbers   []Number `toml:"number"`
	// Of another page: rows of its tables with a column "printed" or "paper". Beside, if not
	// empty, is the page with the measured values of the same rows.
	Page   string `toml:"page"`
	Beside string `toml:"beside"`
}

// Number is a number that a paper prints, and ours. One of Measured, Simulated, Row and Why
// is set at least.
type Number struct {
	What      string `toml:"what"`
	Printed   string `toml:"printed"`
	Measured  string `toml:"measured"`
	Simulated string `toml:"simulated"`
	Row       string `toml:"row"`        // a row of the group's page that has the simulated values
	Why       string `toml:"impossible"` // why it is neither measured nor simulated here
	Missing   string `toml:"missing"`    // it could be, and is not
}

// Load reads the file of a paper.
func Load(name string) (*Paper, error) {
	text, err := files.ReadFile(name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("papers: %w", err)
	}
	return parse(name, string(text))
}

func parse(name, text string) (*Paper, error) {
	var p Paper
	meta, err := toml.Decode(text, &p)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrData, name, err)
	}
	if keys := meta.Undecoded(); len(keys) > 0 {
		return nil, fmt.Errorf("%w: %s: unknown key %q", ErrData, name, keys[0])
	}
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			if err := r.check(); err != nil {
				return nil, fmt.Errorf("%w: %s, %s: %q: %w", ErrData, name, s.Title, r.What, err)
			}
		}
	}
	for _, g := range p.Numbers {
		for _, n := range g.Numbers {
			if err := n.check(&g); err != nil {
				return nil, fmt.Errorf("%w: %s, %s: %q: %w", ErrData, name, g.Title, n.What, err)
			}
		}
	}
	return &p, nil
}

func (r *Row) check() error {
	switch {
	case r.What == "" || !slices.Contains(Kinds, r.Kind):
		return fmt.Errorf("kind %q, allowed are %q", r.Kind, Kinds)
	case (r.Kind == Selectable) != (r.Flag != ""):
		return fmt.Errorf("flag %q of a row that is %s", r.Flag, r.Kind)
	case r.Literal != "" && r.Kind != Deviates:
		return fmt.Errorf("literal %q of a row that is %s", r.Literal, r.Kind)
	case r.Kind == Faithful && r.Here == "":
		return errors.New("faithful, and does not say where")
	case r.Kind != Faithful && r.Kind != Selectable && r.Why == "":
		return fmt.Errorf("%s, and does not say why", r.Kind)
	case strings.Contains(r.What+r.Here+r.Flag+r.Literal+r.Why, "|"):
		return errors.New("has a |, which ends a cell")
	}
	return nil
}

func (n *Number) check(g *Group) error {
	switch {
	case n.What == "" || n.Printed == "":
		return errors.New("nothing printed")
	case n.Measured != "" && g.Measured == "":
		return errors.New("measured, and the group names no command")
	case (n.Simulated != "" || n.Row != "") && g.Simulated == "":
		return errors.New("simulated, and the group names no command")
	case n.Row != "" && g.Page == "":
		return errors.New("names a row, and the group no page")
	}
	ours := 0
	for _, s := range []string{n.Measured, n.Simulated + n.Row, n.Why, n.Missing} {
		if s != "" {
			ours++
		}
	}
	if n.Simulated != "" && n.Row != "" || ours == 0 || (n.Why != "" || n.Missing != "") && ours > 1 {
		return errors.New("must be measured, simulated or both, or have one reason")
	}
	return nil
}
