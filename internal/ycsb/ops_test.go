package ycsb

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"
	"strings"
	"testing"
)

func config(dist Dist, keys uint64) Config {
	return Config{Mix: MixC, Dist: dist, Theta: Theta, Keys: keys, ValueBytes: 32, Seed: 1}
}

func start(t testing.TB, c Config, client int) *Ops {
	t.Helper()
	ops, err := c.Ops(client)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// The hashes pin the first thousand operations of each stream on every
// platform: a change here changes the operations of every recorded measurement.
func TestGolden(t *testing.T) {
	for _, g := range []struct {
		name          string
		mix           Mix
		dist          Dist
		theta         float64
		ordered       bool
		seed          uint64
		client        int
		first, second uint64 // numbers of keys
		hash          uint64
	}{
		{"uniform", MixC, Uniform, Theta, false, 1, 0, 15295184, 31355107, 0x0dd038ceaf707c32},
		{"uniform, other seed", MixC, Uniform, Theta, false, 2, 0, 45631616, 57048711, 0xc50f14b7f02bf133},
		{"uniform, other client", MixC, Uniform, Theta, false, 1, 1, 49875659, 57356890, 0xf9897b980ce803f5},
		{"zipf", MixC, Zipfian, Theta, false, 1, 0, 12515905, 46285503, 0x6199c1fc65e533f0},
		{"zipf in order", MixC, Zipfian, Theta, true, 1, 0, 85, 13366, 0x02fd27c967da3ca2},
		{"zipf 0", MixC, Zipfian, 0, true, 1, 0, 15295184, 31355107, 0x5285bc11fc940247},
		{"zipf 0.5", MixC, Zipfian, 0.5, true, 1, 0, 3901177, 16388513, 0x9686adc0f7126e4e},
		{"zipf 1", MixC, Zipfian, 1, true, 1, 0, 61, 8738, 0x9826bb18d6d9b024},
		{"zipf 1.2", MixC, Zipfian, 1.2, true, 1, 0, 1, 19, 0xadd27b03c4161567},
		{"latest", MixC, Latest, Theta, false, 1, 0, 59999914, 59986633, 0x909986f8f0e39a29},
		{"A", MixA, Zipfian, Theta, false, 1, 0, 12515905, 46285503, 0xc46f03d68fb27b36},
		{"B", MixB, Zipfian, Theta, false, 1, 0, 12515905, 46285503, 0xaf0332b210ffcd22},
		{"D", MixD, Latest, Theta, false, 1, 0, 59999914, 59986633, 0xc2538b467a8c8b0e},
		{"E", MixE, Zipfian, Theta, false, 1, 0, 24801816, 23074994, 0x9aa0e5b6efb6e2dc},
		{"F", MixF, Zipfian, Theta, false, 1, 0, 12515905, 46285503, 0xf991192af8432b27},
	} {
		c := Config{
			Mix: g.mix, Dist: g.dist, Theta: g.theta, Keys: 60_000_000, ValueBytes: 32,
			LargestValueBytes: 1024, Ordered: g.ordered, Seed: g.seed,
		}
		ops, h, numbers := start(t, c, g.client), fnv.New64a(), []uint64{}
		for range 1000 {
			op := ops.Next()
			numbers = append(numbers, op.Number)
			b := append([]byte{byte(op.Kind), byte(op.Scan)}, op.Key[:]...)
			for _, v := range []uint64{op.Number, op.Seq, uint64(op.Size)} {
				b = binary.LittleEndian.AppendUint64(b, v)
			}
			h.Write(b)
		}
		if got := h.Sum64(); got != g.hash || numbers[0] != g.first || numbers[1] != g.second {
			t.Errorf("%s: %d, %d, hash %#016x, want %d, %d, %#016x",
				g.name, numbers[0], numbers[1], got, g.first, g.second, g.hash)
		}
	}
}

// Every distribution draws the numbers of keys according to its law.
func TestPopularity(t *testing.T) {
	const n, draws = 1000, 300_000
	for _, c := range []struct {
		name    string
		dist    Dist
		theta   float64
		ordered bool
	}{
		{"uniform", Uniform, Theta, false}, {"zipf", Zipfian, Theta, false},
		{"zipf in order", Zipfian, Theta, true}, {"zipf 0", Zipfian, 0, false},
		{"zipf 1.2", Zipfian, 1.2, false}, {"latest", Latest, Theta, false},
	} {
		cfg := config(c.dist, n)
		cfg.Theta, cfg.Ordered = c.theta, c.ordered
		ops, counts := start(t, cfg, 0), make([]int, n)
		for range draws {
			counts[ops.Next().Number]++
		}
		p := law(n, c.theta)
		byNumber := make([]float64, n)
		for rank := range n {
			number := uint64(rank)
			switch {
			case c.dist == Uniform:
				p[rank] = 1. / n
			case c.dist == Latest:
				number = n - 1 - number
			case !c.ordered:
				number = ops.scatter.at(number)
			}
			byNumber[number] = p[rank]
		}
		fits(t, c.name, counts, byNumber)
	}
}

// Latest has the law of Zipf over the ages, which includes the client's own
// insertions at once, and never one of the last Lag.
func TestLatestFollowsInsertions(t *testing.T) {
	ten := 0.0
	for k := 1.; k <= 10; k++ {
		ten += math.Pow(k, -Theta)
	}
	for _, lag := range []int{0, 15} {
		cfg := config(Latest, 500)
		cfg.Mix, cfg.Lag = Mix{Read: 50, Insert: 50}, lag
		ops := start(t, cfg, 3)
		owner, inserted := uint64(4)<<ownerShift, uint64(0)
		ages := make([]int, 10)
		// The expected and the counted reads of one of the newest ten keys, at
		// each number of keys.
		harmonic, n, expected, variance := 0.0, uint64(0), 0.0, 0.0
		for range 200_000 {
			op := ops.Next()
			if op.Kind == Insert {
				if op.Number != owner+inserted {
					t.Fatalf("insertion %d is number %x", inserted, op.Number)
				}
				inserted++
				continue
			}
			there := inserted - min(inserted, uint64(lag))
			age := cfg.Keys - 1 - op.Number + there // of a loaded key
			if op.Number >= owner {
				age = owner + there - 1 - op.Number
			}
			if age >= cfg.Keys+there {
				t.Fatalf("lag %d: %x was read with %d insertions", lag, op.Number, inserted)
			}
			if age < uint64(len(ages)) {
				ages[age]++
			}
			for ; n < cfg.Keys+there; n++ {
				harmonic += math.Pow(float64(n+1), -Theta)
			}
			p := ten / harmonic
			expected, variance = expected+p, variance+p*(1-p)
		}
		// Shares among the newest ten do not depend on the number of keys.
		fits(t, "ages", ages, law(len(ages), Theta))
		read := 0
		for _, n := range ages {
			read += n
		}
		if math.Abs(float64(read)-expected) > 4*math.Sqrt(variance) {
			t.Errorf("one of the newest ten was read %d times, want %.0f", read, expected)
		}
	}
}

func TestShares(t *testing.T) {
	for _, m := range append(mixes, Mix{1, 2, 3, 4, 90}) {
		cfg := config(Zipfian, 1000)
		cfg.Mix = m
		ops, counts, p := start(t, cfg, 0), make([]int, numKinds), make([]float64, numKinds)
		for k, share := range m {
			p[k] = float64(share) / 100
		}
		scans := make([]int, MaxScan)
		for range 100_000 {
			op := ops.Next()
			counts[op.Kind]++
			if op.Kind == Scan {
				scans[op.Scan-1]++
			} else if op.Scan != 0 {
				t.Fatal(op)
			}
			if op.Kind.Writes() != (op.Size == 32) || op.Kind.Writes() != (op.Seq != 0) {
				t.Fatal(op)
			}
		}
		for k := range p {
			if (p[k] == 0) != (counts[k] == 0) {
				t.Errorf("mix %v: %d of %v", m, counts[k], Kind(k))
			}
		}
		if m != MixC {
			fits(t, "mix "+m.String(), counts, p)
		}
		if m.Has(Scan) {
			fits(t, "scans of "+m.String(), scans, law(MaxScan, 0))
		}
	}
}

// Clients are independent: neither their reads nor their insertions meet.
func TestClients(t *testing.T) {
	cfg := config(Uniform, MaxKeys)
	cfg.Mix = Mix{Read: 50, Insert: 50}
	seen, seqs := map[Key]bool{}, map[uint64]bool{}
	for _, client := range []int{0, 1, 2, 1000, MaxClients - 1} {
		ops := start(t, cfg, client)
		for range 1000 {
			op := ops.Next()
			if seen[op.Key] || op.Kind == Insert && (seqs[op.Seq] || op.Number < MaxKeys) {
				t.Fatalf("client %d: %v occurs twice", client, op)
			}
			seen[op.Key] = true
			seqs[op.Seq] = op.Kind == Insert
		}
	}
	cfg.Seed++
	if op := start(t, cfg, 0).Next(); seen[op.Key] && op.Kind == Read {
		t.Error("another seed begins the same")
	}
	if _, err := cfg.Ops(MaxClients); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	if _, err := cfg.Ops(-1); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}

func TestSizes(t *testing.T) {
	cfg := config(Zipfian, 100)
	cfg.Mix, cfg.ValueBytes, cfg.LargestValueBytes = MixA, 10, 19
	ops, counts := start(t, cfg, 0), make([]int, 10)
	for range 100_000 {
		if op := ops.Next(); op.Kind == Update {
			counts[op.Size-10]++
		}
	}
	fits(t, "sizes", counts, law(10, 0))
	if op := cfg.Load(7); op.Seq != 0 || op.Key != cfg.Key(7) || op.Kind != Insert || op.Size < 10 || op.Size > 19 {
		t.Error(op)
	}
}

func TestKeys(t *testing.T) {
	plain, ordered := Config{}, Config{Ordered: true}
	if a, b := ordered.Key(0x0123456789abcdef).String(), ordered.Key(9).String(); a != "0123456789abcdef" || b != "0000000000000009" {
		t.Error(a, b)
	}
	seen, sorted := map[Key]bool{}, 0
	for i := range uint64(10_000) {
		k := plain.Key(i)
		if seen[k] || strings.Trim(k.String(), "0123456789abcdef") != "" {
			t.Fatal(k)
		}
		seen[k] = true
		if k.String() < plain.Key(i+1).String() {
			sorted++
		}
	}
	if sorted < 4700 || sorted > 5300 { // 6 sigma, at least, of 10,000 coins
		t.Errorf("%d of 10,000 keys are below the next", sorted)
	}
}

func TestNoAllocations(t *testing.T) {
	buf := make([]byte, 0, 2048)
	for _, dist := range []Dist{Uniform, Zipfian, Latest} {
		cfg := config(dist, 1_000_000)
		cfg.Mix, cfg.LargestValueBytes = Mix{Read: 20, Update: 20, Insert: 20, Scan: 20, ReadModifyWrite: 20}, 1024
		ops := start(t, cfg, 0)
		if n := testing.AllocsPerRun(1000, func() {
			op := ops.Next()
			buf = op.AppendValue(buf[:0])
			if op.Size > 0 {
				if _, err := CheckValue(op.Key, buf); err != nil {
					t.Fatal(err)
				}
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations an operation", dist, n)
		}
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"shares":   func(c *Config) { c.Mix[Read] = 99 },
		"negative": func(c *Config) { c.Mix = Mix{Read: 200, Update: -100} },
		"dist":     func(c *Config) { c.Dist = numDists },
		"theta":    func(c *Config) { c.Theta = -1 },
		"keys":     func(c *Config) { c.Keys = 0 },
		"bytes":    func(c *Config) { c.ValueBytes = 0 },
		"largest":  func(c *Config) { c.LargestValueBytes = 31 },
		"lag":      func(c *Config) { c.Lag = -1 },
	} {
		c := config(Zipfian, 10)
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if _, err := c.Ops(0); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParse(t *testing.T) {
	for i, m := range mixes {
		letter := string(rune('A' + i))
		if got, err := ParseMix(letter); err != nil || got != m || got.String() != letter {
			t.Error(letter, got, err)
		}
		c, err := Standard(letter)
		if err != nil || c.Mix != m || (c.Dist == Latest) != (letter == "D") || c.Theta != 0.99 {
			t.Error(letter, c, err)
		}
	}
	m := Mix{Read: 90, Update: 4, ReadModifyWrite: 6}
	if got, err := ParseMix("read=90, rmw=6,update=4"); err != nil || got != m || got.String() != "read=90,update=4,rmw=6" {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "G", "a", "read", "read=101", "read=50", "read=50,read=50", "read=-1,update=101", "what=100", "read=x", strings.Repeat("read=1,", 1000)} {
		if _, err := ParseMix(bad); !errors.Is(err, ErrConfig) || len(err.Error()) > 300 {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if _, err := Standard("read=100"); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	for d := range numDists {
		if got, err := ParseDist(d.String()); err != nil || got != d {
			t.Error(d, got, err)
		}
	}
	if _, err := ParseDist("Zipf"); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	if numDists.String() != "dist3" || numKinds.String() != "kind5" {
		t.Error(numDists, numKinds)
	}
}

func BenchmarkOps(b *testing.B) {
	for _, dist := range []Dist{Uniform, Zipfian, Latest} {
		b.Run("dist="+dist.String(), func(b *testing.B) {
			cfg := config(dist, 60_000_000)
			cfg.Mix = MixD
			ops, sum := start(b, cfg, 0), uint64(0)
			for b.Loop() {
				sum += ops.Next().Number
			}
			_ = sum
		})
	}
}
