package feature

import (
	"math"
	"strconv"
)

// Coordinates as text
//
// Maps have 6 to 9 decimals. The shortest text of such a number needs no search for it,
// which took most of the time of writing a geometry. Let n be f times 10^9, rounded.
//
//	f == n / 10^9, n < 10^15
//
// The division is rounded correctly, and both of its operands are exact. So f is the
// float64 next to the decimal number n/10^9, and that text reads as f. It has at most
// 15 digits, and no two decimal numbers of at most 15 digits read as the same float64:
// without the zeros at its end it is the shortest that does. All other numbers are
// left to strconv.
const (
	decimals    = 9
	decimalUnit = 1e9 // 10^decimals
	// maxDecimal bounds numbers so that n has at most 15 digits.
	maxDecimal = 1e6
)

// appendNumber appends what encoding/json writes for f: the shortest text that reads
// as f again, with an exponent if it is tiny or huge. f is finite.
func appendNumber(dst []byte, f float64) []byte {
	a := math.Abs(f)
	if a < maxDecimal && (a >= 1e-6 || a == 0) {
		if n := uint64(int64(a*decimalUnit + 0.5)); float64(n)/decimalUnit == a {
			if math.Signbit(f) {
				dst = append(dst, '-')
			}
			return appendDecimal(dst, n)
		}
	}
	format := byte('f')
	if a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// pairs has all numbers of two digits.
const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// appendDecimal appends n / decimalUnit, without zeros at its end.
func appendDecimal(dst []byte, n uint64) []byte {
	whole := n / decimalUnit
	rest := uint32(n - whole*decimalUnit)
	dst = strconv.AppendUint(dst, whole, 10)
	if rest == 0 {
		return dst
	}
	// None of these divisions depends on another.
	a, b, c, d := rest/1e7, rest/1e5%100*2, rest/1e3%100*2, rest/10%100*2
	dst = append(dst, '.', pairs[a*2], pairs[a*2+1], pairs[b], pairs[b+1],
		pairs[c], pairs[c+1], pairs[d], pairs[d+1], byte('0'+rest%10))
	end := len(dst)
	for dst[end-1] == '0' {
		end--
	}
	return dst[:end]
}
