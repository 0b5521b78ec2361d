package places

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendString appends text as a JSON string. Bytes that are not UTF-8 become
// U+FFFD. Unlike encoding/json it leaves <, > and & as they are.
func appendString[T ~string | ~[]byte](dst []byte, text T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(string(text[i:min(len(text), i+utf8.UTFMax)]))
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// isNumber reports whether all of the text is a number as programs write it: a JSON
// number that a float64 can approximate; an integer of up to 64 bits, or as a float64
// is written; an exponent with a sign, after one digit and its decimals. So 8010, 1.50,
// 1e-05 and 1.5E+20 are numbers, and 007, +7, 1e3, 12e4, 1e+999 and most of 20 digits
// are not: they may be meant as text.
func isNumber(text string) bool {
	if text == "" || text[0] != '-' && !isDigit(text[0]) || !isDigit(text[len(text)-1]) ||
		!json.Valid([]byte(text)) {
		return false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return false
	}
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		whole, _, _ := strings.Cut(strings.TrimPrefix(text[:e], "-"), ".")
		return len(whole) == 1 && !isDigit(text[e+1])
	}
	const surely = 18 // digits that fit into 64 bits, with a sign
	if len(text) <= surely || strings.Contains(text, ".") {
		return true
	}
	_, signed := strconv.ParseInt(text, 10, 64)
	_, unsigned := strconv.ParseUint(text, 10, 64)
	return signed == nil || unsigned == nil || strconv.FormatFloat(v, 'f', -1, 64) == text
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
