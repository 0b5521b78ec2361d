package ycsb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of an operation.
type Kind uint8

// The kinds. Scan reads Op.Scan keys in their order, from Op.Key on.
// ReadModifyWrite reads a key and then writes it.
const (
	Read Kind = iota
	Update
	Insert
	Scan
	ReadModifyWrite
	numKinds
)

var kindNames = [numKinds]string{"read", "update", "insert", "scan", "rmw"}

// String returns the name that ParseMix takes.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "kind" + strconv.Itoa(int(k))
}

// Writes reports whether the operation writes a value.
func (k Kind) Writes() bool { return k == Update || k == Insert || k == ReadModifyWrite }

// Mix has each kind's share in percent; they add up to 100.
type Mix [numKinds]int

// The mixes of YCSB (Cooper et al., SoCC 2010, table 2, and its core
// workloads).
var (
	MixA = Mix{Read: 50, Update: 50}
	MixB = Mix{Read: 95, Update: 5}
	MixC = Mix{Read: 100}
	MixD = Mix{Read: 95, Insert: 5}
	MixE = Mix{Scan: 95, Insert: 5}
	MixF = Mix{Read: 50, ReadModifyWrite: 50}
)

var mixes = []Mix{MixA, MixB, MixC, MixD, MixE, MixF}

// Has reports whether operations of a kind occur.
func (m Mix) Has(k Kind) bool { return m[k] > 0 }

// ParseMix reads a letter from A to F, or shares such as
// "read=90,update=10". Errors wrap ErrConfig.
func ParseMix(text string) (Mix, error) {
	if len(text) == 1 && text[0] >= 'A' && text[0] <= 'F' {
		return mixes[text[0]-'A'], nil
	}
	var m Mix
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		k := slices.Index(kindNames[:], name)
		if !ok || k < 0 {
			return Mix{}, fmt.Errorf("%w: mix %s: want A to F, or kind=percent with a kind of %s",
				ErrConfig, quote(text), strings.Join(kindNames[:], ", "))
		}
		share, err := strconv.Atoi(value)
		if err != nil || m[k] != 0 {
			return Mix{}, fmt.Errorf("%w: mix %s: %s is no share, or occurs twice",
				ErrConfig, quote(text), quote(part))
		}
		m[k] = share
	}
	return m, m.check()
}

func (m Mix) check() error {
	sum := 0
	for k, share := range m {
		if share < 0 || share > 100 {
			return fmt.Errorf("%w: %d %% of %s, want 0 to 100", ErrConfig, share, kindNames[k])
		}
		sum += share
	}
	if sum != 100 {
		return fmt.Errorf("%w: the shares of the mix add up to %d, want 100", ErrConfig, sum)
	}
	return nil
}

// String returns the letter, or what ParseMix reads.
func (m Mix) String() string {
	if i := slices.Index(mixes, m); i >= 0 {
		return string(rune('A' + i))
	}
	var parts []string
	for k, share := range m {
		if share != 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", kindNames[k], share))
		}
	}
	return strings.Join(parts, ",")
}

// Dist says how popular keys are.
type Dist uint8

// The distributions. Uniform and Zipf draw from the loaded keys; Latest is Zipf
// by age: the newest key is the most popular one.
const (
	Uniform Dist = iota
	Zipfian
	Latest
	numDists
)

var distNames = [numDists]string{"uniform", "zipf", "latest"}

// String returns the name that ParseDist takes.
func (d Dist) String() string {
	if d < numDists {
		return distNames[d]
	}
	return "dist" + strconv.Itoa(int(d))
}

// ParseDist reads "uniform", "zipf" or "latest". Errors wrap ErrConfig.
func ParseDist(text string) (Dist, error) {
	if i := slices.Index(distNames[:], text); i >= 0 {
		return Dist(i), nil
	}
	return 0, fmt.Errorf("%w: distribution %s, want one of %s",
		ErrConfig, quote(text), strings.Join(distNames[:], ", "))
}

// quote shortens hostile text for an error message.
func quote(s string) string {
	const limit = 60 // the longest sensible mix
	if len(s) > limit {
		return fmt.Sprintf("%q...", s[:limit])
	}
	return fmt.Sprintf("%q", s)
}
