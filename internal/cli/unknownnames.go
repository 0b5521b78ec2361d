package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
)

// tellUnknown prints on standard error the properties of a filter that no feature of a
// collection has: most are misspelt. It is no error: later features may have them. It
// prints nothing where that is not known, because the collection is empty or has more
// properties than it counts.
func (a *App) tellUnknown(ctx context.Context, fs *catfish.Features, collection, condition string) {
	if condition == "" {
		return
	}
	names, err := cel.Properties(condition)
	if err != nil || len(names) == 0 {
		return // The search reports its error.
	}
	info, err := fs.Describe(ctx)
	if err != nil || info.Features == 0 || info.MoreProperties {
		return
	}
	var known []string
	for _, p := range info.Properties {
		known = append(known, p.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			fmt.Fprintf(a.Err, "property %q is unknown%s: no feature of %s has it\n", name, nearestName(name, known), collection)
		}
	}
}

// nearestName returns a question for the known name that the user may have meant: the
// nearest one, if it is near.
func nearestName(name string, known []string) string {
	best, least := "", 1+max(1, len([]rune(name))/3)
	for _, k := range known {
		if more := len([]rune(k)) - len([]rune(name)); more >= least || -more >= least {
			continue // It takes as many edits.
		}
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// edits is the number of characters to insert, remove or replace to turn a into b
// (Levenshtein's distance).
func edits(a, b string) int {
	s, t := []rune(a), []rune(b)
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range s {
		before := row[0] // of the row above, one to the left
		row[0] = i + 1
		for j, d := range t {
			cost := before
			if c != d {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(t)]
}
