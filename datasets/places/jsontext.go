package places

import (
	"encoding/json"
	"math"
	"strconv"
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

// isNumber reports whether all of the text is a JSON number that a float64
// can be near to. So 007 and 1e999 are text, and 1e3 is a number.
func isNumber(text string) bool {
	if text == "" || text[0] != '-' && !isDigit(text[0]) || !isDigit(text[len(text)-1]) ||
		!json.Valid([]byte(text)) {
		return false
	}
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsInf(v, 0)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
