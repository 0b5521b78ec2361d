package rfp

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Mark says why a simulated number is like the printed one.
type Mark string

// Marks.
const (
	Predicted Mark = ""        // no choice depends on it
	Fitted    Mark = "fitted"  // a parameter was chosen to give it
	Seen      Mark = "seen"    // an assumption was chosen after a look at it
	Given     Mark = "given"   // it is a parameter itself
	Follows   Mark = "follows" // from fitted and given numbers, by arithmetic or Little's law
)

// off is how far a simulated number may be from the printed one before the page
// says so.
const off = 0.2

// Value is a simulated number.
type Value struct {
	Table   string  `json:"table"`
	What    string  `json:"what"`
	Column  string  `json:"column,omitempty"` // of tables that compare nothing
	Unit    string  `json:"unit"`
	Printed float64 `json:"printed,omitempty"` // by the paper
	Value   float64 `json:"value"`
	Mark    Mark    `json:"mark,omitempty"`
	Why     string  `json:"why,omitempty"` // why it is off
}

// Ratio is the simulated number divided by the printed one.
func (v Value) Ratio() float64 { return v.Value / v.Printed }

// Off reports whether the printed number is missed.
func (v Value) Off() bool { return v.Printed > 0 && math.Abs(v.Ratio()-1) > off }

// Table is one table of the page.
type Table struct {
	Name, Title string
	Text        []string // paragraphs above it
	// Columns are of a table that compares nothing. Its values are ordered by
	// rows; others have a row each.
	Columns []string
	Values  []Value
}

// Write writes a table in Markdown.
func (t Table) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n", t.Title)
	for _, p := range t.Text {
		fmt.Fprintf(&b, "%s\n\n", p)
	}
	if t.Columns == nil {
		t.compare(&b)
	} else {
		t.list(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Table) compare(b *strings.Builder) {
	b.WriteString("| | | printed | simulated | ratio | |\n|---|---|---|---|---|---|\n")
	var why []string
	for _, v := range t.Values {
		mark := string(v.Mark)
		if v.Off() {
			if mark != "" {
				mark = ", " + mark
			}
			mark = "**off**" + mark
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.2f | %s |\n", v.What, v.Unit, printed(v.Printed), beside(v.Printed, v.Value), v.Ratio(), mark)
		if v.Why != "" && !slices.Contains(why, v.Why) {
			why = append(why, v.Why)
		}
	}
	for _, s := range why {
		fmt.Fprintf(b, "\n%s\n", s)
	}
}

func (t Table) list(b *strings.Builder) {
	fmt.Fprintf(b, "| | %s |\n|---|%s\n", strings.Join(t.Columns, " | "), strings.Repeat("---|", len(t.Columns)))
	for i, v := range t.Values {
		if i%len(t.Columns) == 0 {
			fmt.Fprintf(b, "| %s |", v.What)
		}
		fmt.Fprintf(b, " %s |", number(v.Value))
		if i%len(t.Columns) == len(t.Columns)-1 {
			b.WriteString("\n")
		}
	}
}

// printed formats a number like the paper.
func printed(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// beside is a number with at least as many decimals as the printed one.
func beside(of, v float64) string {
	_, decimals, _ := strings.Cut(printed(of), ".")
	if len(decimals) > 2 {
		return strconv.FormatFloat(v, 'f', len(decimals), 64)
	}
	return number(v)
}

// number has three digits, and no exponent.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// WriteJSON writes a row for each value, one a line.
func (t Table) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	for _, v := range t.Values {
		row := struct {
			Value
			Ratio       float64 `json:"ratio,omitempty"`
			IsSimulated bool    `json:"simulated"` // as every row of bench says
		}{Value: v, IsSimulated: true}
		if v.Printed > 0 {
			row.Ratio = v.Ratio()
		}
		if err := e.Encode(row); err != nil {
			return fmt.Errorf("rfp: writing a row: %w", err)
		}
	}
	return nil
}
