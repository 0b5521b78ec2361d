package props

import (
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// An evaluation in steps
//
// Operations that read much data are charged while they do, by the Reader, and the
// Reader calls Stepper.Step in between:
//
//	reading properties   by the byte (Cursor)
//	patterns             by the byte of the string and the instruction
//	FoldCase             by the byte
//	loops                by the iteration
//
// Patterns take longest. Go's regexp takes 4 to 9 ns for a byte of the string
// and an instruction of the program, at worst, and is linear in both, but
// cannot be interrupted. It can read its input by the character, though. The
// input then counts, and ends when the evaluation must. That costs more than a
// string, so short strings, which take less than a step, are passed as strings.

// Stepper lets other work run in the middle of an evaluation, or ends it.
type Stepper interface {
	// Step is called after 10 to 150 us of an evaluation, and never in one that takes
	// less. Its error ends the evaluation, which returns it.
	Step() error
}

const (
	// StepBytes of properties are scanned between two steps, or as many pairs
	// of a byte and an instruction: 16,384 of those take 0.15 ms.
	StepBytes = 16 << 10
	// LoopBytes is the count of one iteration of a loop: it takes 0.2 us or more.
	LoopBytes = 64
	// MemberBytes is the count of a member that is stored or compared: 0.1 us or more.
	MemberBytes = 16
	// foldBytes are folded in one call, which takes 13 ns for each.
	foldBytes = 1 << 10
)

// maxRegex bounds the programs of a filter's regular expressions, in instructions,
// which counted repetitions multiply: 250 are enough for some hundred characters.
// While a string is matched, each of them costs as much as its bytes.
const maxRegex = 250

// PatternSize returns the instructions of a pattern, and adds them to all.
func PatternSize(pattern string, all *int) (n int, err error) {
	if n, err = ProgramSize(pattern); err != nil {
		return 0, err
	}
	if *all += n; *all > maxRegex {
		return 0, fmt.Errorf("the patterns so far compile to %d instructions, at most %d are allowed",
			*all, maxRegex)
	}
	return n, nil
}

// ProgramSize returns the number of instructions of a pattern.
func ProgramSize(pattern string) (int, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}

// MatchPattern applies a pattern of that many instructions. The result means nothing after a fault.
func MatchPattern(r *Reader, re *regexp.Regexp, size int, s string) bool {
	if work := (len(s) + 1) * size; work <= StepBytes {
		return r.Spend(work) && re.MatchString(s)
	}
	of := *r // A copy: regexp would move the caller's to the heap.
	found := re.MatchReader(&characters{r: &of, s: s, price: size})
	*r = of
	return found
}

// characters is a string that a pattern reads, at a price for each byte. It
// ends when the evaluation does; the pattern's result is then meaningless.
type characters struct {
	r     *Reader
	s     string
	price int
}

func (c *characters) ReadRune() (rune, int, error) {
	char, n := utf8.DecodeRuneInString(c.s)
	if n == 0 || !c.r.Spend(n*c.price) {
		return 0, 0, io.EOF
	}
	c.s = c.s[n:]
	return char, n, nil
}

// FoldCase is a string by Unicode's full case folding; false after a fault.
func FoldCase(r *Reader, rest string) (string, bool) {
	var all strings.Builder
	for fold := cases.Fold(); rest != ""; {
		n := min(foldBytes, len(rest))
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n++
		}
		if !r.Spend(n) {
			return "", false
		}
		all.WriteString(fold.String(rest[:n]))
		rest = rest[n:]
	}
	return all.String(), true
}
