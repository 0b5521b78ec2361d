package limits

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func never(t *testing.T) func(error) {
	return func(err error) { t.Errorf("cut: %v", err) }
}

func TestShare(t *testing.T) {
	b := NewBudget("bytes", 100, 60)
	a1, a2 := b.Open("a", never(t)), b.Open("a", never(t))
	if err := a1.Take(40); err != nil {
		t.Fatal(err)
	}
	err := a2.Take(21)
	if !errors.Is(err, ErrExceeded) || !strings.Contains(err.Error(), "limit 60 for one source") {
		t.Fatalf("21 more to 40 of 60: %v", err)
	}
	if err := a2.Take(20); err != nil {
		t.Fatal(err)
	}
	a1.Close()
	a1.Close()
	if err := a2.Take(40); err != nil {
		t.Fatal(err)
	}
	if u := b.Use(); u.Used != 60 || u.Refused != 1 || u.Cut != 0 || u.Sources != 1 {
		t.Fatalf("%+v", u)
	}
	a2.Close()
	if u := b.Use(); u.Used != 0 || u.Sources != 0 {
		t.Fatalf("%+v after all have left", u)
	}
}

func TestLargestIsCutForSmaller(t *testing.T) {
	b := NewBudget("bytes", 100, 90)
	var why error
	small := b.Open("big", never(t))
	big := b.Open("big", func(err error) { why = err })
	other := b.Open("other", never(t))
	for a, n := range map[*Account]int64{small: 10, big: 80, other: 10} {
		if err := a.Take(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Take(15); err != nil {
		t.Fatalf("15 more for who holds 10: %v", err)
	}
	if !errors.Is(why, ErrCut) || !errors.Is(why, ErrExceeded) {
		t.Fatalf("the largest was told %v", why)
	}
	if err := big.Take(1); !errors.Is(err, ErrExceeded) {
		t.Fatalf("a cut account took more: %v", err)
	}
	big.Give(80) // returned by its owner while it ends: changes nothing
	if u := b.Use(); u.Used != 35 || u.Cut != 1 {
		t.Fatalf("%+v", u)
	}
}

func TestNoAccountIsCutForLarger(t *testing.T) {
	b := NewBudget("bytes", 100, 90)
	a, c := b.Open("a", never(t)), b.Open("c", never(t))
	for _, x := range []*Account{a, c} {
		if err := x.Take(45); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Take(11); !errors.Is(err, ErrExceeded) {
		t.Fatalf("one that would be the largest took the room of others: %v", err)
	}
}

// A request that is refused in the end cuts no connection on the way.
func TestRefusedRequestCutsNoAccount(t *testing.T) {
	b := NewBudget("bytes", 100, 100)
	a, c := b.Open("a", never(t)), b.Open("c", never(t))
	c2, d := b.Open("c", never(t)), b.Open("d", never(t))
	for _, x := range []struct {
		*Account
		n int64
	}{{a, 10}, {c, 30}, {c2, 20}, {d, 40}} {
		if err := x.Take(x.n); err != nil {
			t.Fatal(err)
		}
	}
	// The 30 of c would be cut first, but are not enough: the rest of c, 20,
	// is no more than a would hold.
	if err := a.Take(33); !errors.Is(err, ErrExceeded) {
		t.Fatalf("33 more: %v", err)
	}
	if u := b.Use(); u.Used != 100 || u.Cut != 0 || u.Refused != 1 {
		t.Fatalf("%+v after a request that was refused", u)
	}
}

func TestReplacingCutsTheOldestOfTheLargest(t *testing.T) {
	b := NewReplacingBudget("silent", 3)
	var cut []string
	add := func(from, name string) {
		t.Helper()
		if err := b.Open(from, func(error) { cut = append(cut, name) }).Take(1); err != nil {
			t.Fatal(err)
		}
	}
	add("flood", "f1")
	add("honest", "h1")
	add("flood", "f2")
	add("flood", "f3")
	add("flood", "f4")
	add("honest", "h2")
	if got := strings.Join(cut, " "); got != "f1 f2 f3" {
		t.Fatalf("cut %s, want f1 f2 f3", got)
	}
}

// One source alone has its oldest replaced, too.
func TestReplacingOneSource(t *testing.T) {
	b := NewReplacingBudget("silent", 3)
	var cut []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if err := b.Open("flood", func(error) { cut = append(cut, name) }).Take(1); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(cut, " "); got != "a b" {
		t.Fatalf("cut %s, want a b", got)
	}
	if err := b.Open("flood", never(t)).Take(4); !errors.Is(err, ErrExceeded) || b.Use().Used != 3 {
		t.Fatalf("more than the total: %v, %+v", err, b.Use())
	}
}

func TestNilCountsNothing(t *testing.T) {
	var b *Budget
	a := b.Open("a", nil)
	if err := a.Take(1 << 60); err != nil {
		t.Fatal(err)
	}
	a.Give(1)
	a.Close()
	if b.Use() != (Use{}) || a.Held() != 0 {
		t.Fatal("a nil budget counts")
	}
}

// Sums agree and limits hold for any operations of peers.
func TestSumsAndLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 50).Draw(t, "total")
		b := NewBudget("x", total, rapid.Int64Range(1, 50).Draw(t, "share"))
		b.replace = rapid.Bool().Draw(t, "replace")
		if b.replace {
			b.share = total
		}
		type peer struct {
			*Account
			held int64
			cut  bool
		}
		var peers []*peer
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch n := rapid.Int64Range(1, 20).Draw(t, "n"); {
			case len(peers) == 0 || rapid.IntRange(0, 4).Draw(t, "op") == 0:
				p := &peer{}
				p.Account = b.Open(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "from"), func(error) { p.cut, p.held = true, 0 })
				peers = append(peers, p)
			default:
				p := peers[rapid.IntRange(0, len(peers)-1).Draw(t, "peer")]
				switch rapid.IntRange(0, 3).Draw(t, "do") {
				case 0, 1:
					if p.Take(n) == nil {
						p.held += n
					}
				case 2:
					p.Give(n)
					p.held -= min(n, p.held)
				case 3:
					p.Close()
					p.held, p.cut = 0, true
				}
				if p.cut && p.Take(1) == nil {
					t.Fatal("a cut account took more")
				}
			}
			sum, of := int64(0), map[*source]int64{}
			for _, p := range peers {
				sum += p.held
				of[p.Account.of] += p.held
				if p.Held() != p.held {
					t.Fatalf("held %d, want %d", p.Held(), p.held)
				}
			}
			if u := b.Use(); u.Used != sum || sum > total {
				t.Fatalf("used %d, sum %d, total %d", u.Used, sum, total)
			}
			for s, n := range of {
				if n > b.share {
					t.Fatalf("%s holds %d, share %d", s.name, n, b.share)
				}
			}
		}
	})
}

func TestConcurrent(t *testing.T) {
	b := NewBudget("x", 64, 40)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 2000 {
				a := b.Open(string(rune('a'+i%3)), func(error) {})
				for a.Take(7) == nil {
				}
				a.Give(3)
				a.Close()
			}
		})
	}
	wg.Wait()
	if u := b.Use(); u.Used != 0 || u.Sources != 0 {
		t.Fatalf("%+v", u)
	}
}

func TestSourceOf(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.7:4711":            "10.0.0.7",
		"[::ffff:10.0.0.7]:4711":   "10.0.0.7",
		"[2001:db8:1:2:3::4]:4711": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1":         "fe80::/64",
	} {
		if got := SourceOf(addr(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		tcp, err := net.ResolveTCPAddr("tcp", in)
		if err != nil {
			t.Fatal(err)
		}
		if got := SourceOf(tcp); got != want {
			t.Errorf("%s as an address of TCP: %s, want %s", in, got, want)
		}
	}
	if got := SourceOf(&net.TCPAddr{Port: 1}); got != "" {
		t.Errorf("no address: %s", got)
	}
	if got := SourceOf(&net.UnixAddr{Name: "@x", Net: "unix"}); got != "@x" {
		t.Errorf("unix: %s", got)
	}
}

type addr string

func (a addr) Network() string { return "tcp" }
func (a addr) String() string  { return string(a) }
