package web

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// number is a decimal number of a parameter, in the form of JSON or with a plus sign.
// strconv alone also takes hexadecimal ones, underscores, Inf and NaN.
func number(text string) (float64, error) {
	text = strings.TrimSpace(text)
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case strings.Trim(text, "0123456789+-.eE") != "" || err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is no number", clip(text, maxValue))
	case err != nil:
		return 0, fmt.Errorf("%q is out of the range of numbers, -1.8e308 to 1.8e308", clip(text, maxValue))
	}
	return f, nil
}
