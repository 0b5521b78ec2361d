package places

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
)

// altitudes gathers the altitudes of positions while they are read. read is the number of
// positions read. z is nil until a position has an altitude; then it has one for each
// position: NaN for a position without.
type altitudes struct {
	read int
	z    []float64
}

// keep adds the altitude of one position, NaN for none.
func (a *altitudes) keep(z float64) {
	if a.z == nil && !math.IsNaN(z) {
		for range a.read {
			a.z = append(a.z, math.NaN())
		}
	}
	if a.read++; a.z != nil || !math.IsNaN(z) {
		a.z = append(a.z, z)
	}
}

// back forgets all but the first positions: the geometry leaves out the others.
func (a *altitudes) back(read int) {
	a.read = read
	if a.z != nil {
		a.z = a.z[:read]
	}
}

// of returns the altitudes of a geometry, nil if no position has one.
func (a *altitudes) of(positions int) ([]float64, error) {
	for _, z := range a.z {
		if math.IsNaN(z) {
			continue
		}
		if len(a.z) != positions {
			return nil, fmt.Errorf("%w: %d altitudes for %d positions", input.ErrSyntax, len(a.z), positions)
		}
		return a.z, nil
	}
	return nil, nil
}

// Well-known text with more than two dimensions
//
//	POINT Z (1 2 3)    POINTZ(1 2 3)    POINT(1 2 3)    POINT M (1 2 9)    POINT ZM (1 2 3 9)
//
// The decoder knows two dimensions. So the cutter removes the tags and the numbers after
// the second one from the text, and changes no other part of it; the writer inserts them
// again. Measures (M) are dropped.

// cutWKT returns the text in two dimensions.
func cutWKT(text string, to *altitudes) (string, error) {
	c := wktCutter{to: to, out: make([]byte, 0, len(text))}
	for i := 0; i < len(text); {
		switch ch := text[i]; {
		case isLetter(ch):
			n := i
			for n < len(text) && isLetter(text[n]) {
				n++
			}
			if err := c.word(text[i:n]); err != nil {
				return "", err
			}
			i = n
		case ch == '+' || ch == '-' || ch == '.' || ch >= '0' && ch <= '9':
			n := i
			for n < len(text) && (isLetter(text[n]) || strings.IndexByte("+-.0123456789", text[n]) >= 0) {
				n++
			}
			if err := c.number(text[i:n]); err != nil {
				return "", err
			}
			i = n
		default:
			if ch == ',' || ch == ')' {
				if err := c.position(); err != nil {
					return "", err
				}
			}
			c.out = append(c.out, ch)
			i++
		}
	}
	return string(c.out), nil
}

type wktCutter struct {
	to      *altitudes
	out     []byte
	tag     string // Z, M or ZM, of the current geometry
	numbers int    // of the current position
	z       float64
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (c *wktCutter) word(w string) error {
	upper := strings.ToUpper(w)
	switch upper {
	case "NAN": // written for a position without an altitude
		return c.number(w)
	case "Z", "M", "ZM":
		c.tag = upper
		return nil
	case "EMPTY":
	default:
		c.tag = ""
		for _, tag := range []string{"ZM", "Z", "M"} {
			if strings.HasSuffix(upper, tag) {
				c.tag, w = tag, w[:len(w)-len(tag)]
				break
			}
		}
	}
	c.out = append(c.out, w...)
	return nil
}

func (c *wktCutter) number(text string) error {
	if c.numbers++; c.numbers <= 2 {
		c.out = append(c.out, text...)
		return nil
	}
	c.out = []byte(strings.TrimRight(string(c.out), " \t\r\n"))
	if c.numbers == 3 && c.tag != "M" {
		z, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(z, 0) {
			return fmt.Errorf("%w: altitude %s, want a finite number", input.ErrSyntax, input.Quote(text))
		}
		c.z = z
	}
	return nil
}

// position ends the current position, if it has numbers.
func (c *wktCutter) position() error {
	if c.numbers == 0 {
		return nil
	}
	want, most := 2+len(c.tag), 2+len(c.tag)
	if c.tag == "" {
		most = 4 // PostGIS writes no tags in its own text.
	}
	if c.tag != "" && c.numbers < want || c.numbers > most { // The decoder checks for two.
		return fmt.Errorf("%w: a position with %d coordinates in WKT, want %d", input.ErrSyntax, c.numbers, want)
	}
	z := c.z
	if c.numbers == 2 || c.tag == "M" {
		z = math.NaN()
	}
	c.to.keep(z)
	c.numbers = 0
	return nil
}

// putWKT puts altitudes into text of two dimensions.
func putWKT(text string, z []float64) string {
	var out []byte
	in := false // within a position
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(' && i > 0 && isLetter(text[i-1]):
			out = append(out, " Z ("...)
			continue
		case c == ',' || c == ')':
			if in {
				out = strconv.AppendFloat(append(out, ' '), z[0], 'g', -1, 64)
				z, in = z[1:], false
			}
		case c >= '0' && c <= '9':
			in = true
		}
		out = append(out, text[i])
	}
	return string(out)
}
