package papers

import (
	"fmt"
	"strings"
)

const intro = `# Five papers, row by row

Each mechanism and experiment of the papers that Catfish follows, and each number that they print, with what is here of
it. No RDMA card is at hand: *measured* is on a virtual machine with two cores, over shared memory or over a card of
software, and says how; *simulated* is on the model of a cluster ([paper-simulated](../research/paper-simulated.md),
[rfp](rfp.md#the-model-and-what-is-fitted)), and *fitted*, *seen* and *off* mean there what they mean here. Explanations are
on the page of each paper.

| | |
|---|---|
| faithful | as printed, or stronger |
| selectable | as printed with the flag that is named; the default is another |
| deviates | the same purpose in another way, for the reason that is named |
| impossible | not with what is at hand |
| not built | of an experiment: not run |

This page is made by ` + "`make papers`, of `bench/papers/*.toml` and of the pages that it quotes" + `: do not edit it.

`

// Page makes the page. docs is the directory of the pages that it quotes.
func Page(docs string) (string, error) {
	var list, text strings.Builder
	list.WriteString("| paper |" + strings.Repeat(" %s |", len(Kinds)) + " numbers | measured | simulated | impossible | not yet |\n")
	head := fmt.Sprintf(list.String(), anySlice(Kinds)...)
	list.Reset()
	list.WriteString(head + strings.Repeat("|---", len(Kinds)+6) + "|\n")
	for _, name := range Names {
		p, err := Load(name)
		if err != nil {
			return "", err
		}
		for i := range p.Numbers {
			if err := p.Numbers[i].fill(docs); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(&list, "| [%s](#%s) |", p.Title, strings.ToLower(p.Title))
		rows, numbers := p.Count()
		for _, k := range Kinds {
			fmt.Fprintf(&list, " %d |", rows[k])
		}
		fmt.Fprintf(&list, " %d | %d | %d | %d | %d |\n", numbers.All, numbers.Measured, numbers.Simulated, numbers.Impossible, numbers.Missing)
		p.write(&text)
	}
	return intro + list.String() + text.String(), nil
}

func anySlice[T any](s []T) (all []any) {
	for _, v := range s {
		all = append(all, v)
	}
	return all
}

// Counts are those of a paper's numbers. One that is both measured and simulated is in both.
type Counts struct{ All, Measured, Simulated, Impossible, Missing int }

// Count counts rows by kind, and numbers as they are: fill adds to them.
func (p *Paper) Count() (rows map[Kind]int, n Counts) {
	rows = map[Kind]int{}
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			rows[r.Kind]++
		}
	}
	for _, g := range p.Numbers {
		for _, one := range g.Numbers {
			n.All++
			if one.Measured != "" {
				n.Measured++
			}
			if one.Simulated+one.Row != "" {
				n.Simulated++
			}
			if one.Why != "" {
				n.Impossible++
			}
			if one.Missing != "" {
				n.Missing++
			}
		}
	}
	return rows, n
}

func (p *Paper) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", p.Title, strings.TrimSpace(p.About))
	for _, s := range p.Sections {
		fmt.Fprintf(b, "\n### %s: %s\n\n| the paper | | here | why, or the flag |\n|---|---|---|---|\n", p.Title, s.Title)
		for _, r := range s.Rows {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", one(r.What), r.Kind, one(r.Here), one(r.Flag+r.Why))
		}
	}
	fmt.Fprintf(b, "\n### %s: printed numbers\n", p.Title)
	for _, g := range p.Numbers {
		g.write(b)
	}
}

func (g *Group) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n**%s.**", g.Title)
	if g.Measured != "" {
		fmt.Fprintf(b, " Measured: %s.", one(g.Measured))
	}
	if g.Simulated != "" {
		fmt.Fprintf(b, " Simulated: %s.", one(g.Simulated))
	}
	b.WriteString("\n\n| | printed | measured | simulated | why neither |\n|---|---|---|---|---|\n")
	for _, n := range g.Numbers {
		why := n.Why
		if why != "" {
			why = "impossible here: " + why
		} else if n.Missing != "" {
			why = "not yet: " + n.Missing
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", one(n.What), one(n.Printed), one(n.Measured), one(n.Simulated), one(why))
	}
}

// one makes a cell of lines.
func one(s string) string { return strings.Join(strings.Fields(s), " ") }
