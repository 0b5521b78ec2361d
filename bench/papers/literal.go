package papers

import (
	"fmt"
	"strings"
)

// Pages are the papers' own pages, by their paths from docs. Each has the table of Literal at
// its top, between the two marks.
var Pages = map[string]string{
	"catfish": "research/paper.md",
	"rfp":     "papers/rfp.md",
	"hydradb": "papers/hydradb.md",
	"rhkv":    "papers/rhkv.md",
	"mongo":   "papers/rdma-mongo.md",
}

const literalBegin, literalEnd = "<!-- literal -->\n", "<!-- literal: end -->\n"

// Literal is a table of the mechanisms whose literal form can be chosen, or runs beside ours.
func (p *Paper) Literal() string {
	var b strings.Builder
	b.WriteString("| mechanism | literally | ours |\n|---|---|---|\n")
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			if chosen := r.Flag + r.Literal; chosen != "" {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", one(r.What), one(chosen), one(r.Here))
			}
		}
	}
	return b.String()
}

// Between replaces what a page has between the marks of the table.
func Between(page, table string) (string, error) {
	before, rest, ok := strings.Cut(page, literalBegin)
	_, after, ended := strings.Cut(rest, literalEnd)
	if !ok || !ended {
		return "", fmt.Errorf("%w: no %q and %q after it", ErrData, literalBegin, literalEnd)
	}
	return before + literalBegin + table + literalEnd + after, nil
}
