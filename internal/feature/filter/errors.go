package filter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

var (
	// ErrFilter: an expression does not compile. An *Error has the details.
	ErrFilter = errors.New("filter: invalid expression")
	// ErrCost: an evaluation took more than its limit.
	ErrCost = props.ErrSpent
	// ErrProperties: a feature's properties are not JSON.
	ErrProperties = props.ErrMalformed
)

// Error says why an expression does not compile, and where. It is an ErrFilter.
type Error struct {
	Expr    string // the whole expression
	Line    int    // from 1
	Column  int    // in that line, in characters, from 1; 0 if unknown
	Message string
}

// Error returns the message, and below it the line of the expression with a
// caret under the column.
func (e *Error) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%v: %s", ErrFilter, e.Message)
	}
	at := fmt.Sprintf("column %d", e.Column)
	if e.Line > 1 {
		at = fmt.Sprintf("line %d, %s", e.Line, at)
	}
	line, indent := e.Snippet()
	return fmt.Sprintf("%v: %s: %s\n  %s\n  %s^", ErrFilter, at, e.Message, line, indent)
}

// Is reports that e is an ErrFilter.
func (e *Error) Is(target error) bool { return target == ErrFilter }

// snippetWidth is how much of a long line is shown, in characters: it fits a
// terminal of 80 columns.
const snippetWidth = 72

// Snippet returns the part of the line around the column, and the indent of the
// caret: tabs where the line has tabs, so that both align.
func (e *Error) Snippet() (line, indent string) {
	lines := strings.Split(e.Expr, "\n")
	if e.Line < 1 || e.Line > len(lines) {
		return "", ""
	}
	chars := []rune(strings.TrimSuffix(lines[e.Line-1], "\r"))
	at := min(e.Column-1, len(chars))
	from := max(0, at-snippetWidth/2)
	to := min(len(chars), from+snippetWidth)
	pad := make([]rune, at-from)
	for i := range pad {
		pad[i] = ' '
		if chars[from+i] == '\t' {
			pad[i] = '\t'
		}
	}
	return string(chars[from:to]), string(pad)
}
