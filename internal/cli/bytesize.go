package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// byteSize is a flag for a number of bytes: 1073741824, 1024MiB or 1GiB.
type byteSize struct{ n *int64 }

// units are the suffixes that a number may have, longest first.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

func (b byteSize) String() string {
	if b.n == nil {
		return "0"
	}
	return strconv.FormatInt(*b.n, 10)
}

func (b byteSize) Type() string { return "bytes" }

func (b byteSize) Set(s string) error {
	number, unit := strings.TrimSpace(s), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && unit == 1 {
		*b.n = n // also values that a float64 does not hold
		return nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(math.Abs(f*unit) < 1<<62) {
		return fmt.Errorf("want a number of bytes, such as 1073741824, 512MiB or 1GiB")
	}
	*b.n = int64(f * unit)
	return nil
}

// BytesFlag registers a flag of a size.
func BytesFlag(fs *pflag.FlagSet, to *int64, name, usage string) { fs.Var(byteSize{to}, name, usage) }

// sizeText formats a number of bytes for people.
func sizeText(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
