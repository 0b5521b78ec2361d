package limits

import (
	"errors"
	"fmt"
	"sync"
)

// A Budget bounds how much the peers of a server hold of one resource:
// connections, bytes of answers that they have not taken, bytes mapped.
//
// It has a total. Each connection has an Account in it, and belongs to
// a source: a process, a user or a host, something that a peer cannot
// multiply for free. A source may hold no more than its share.
//
//	Budget  total 2 GiB, share 512 MiB
//	  source 10.0.0.7     account 40 MiB   account 300 MiB
//	  source 10.0.0.9     account 64 KiB
//
// What exceeds the share is refused. What exceeds the total is refused, too,
// if no other source holds more than the one that asks would then hold.
// Otherwise the largest account of the source that holds most is cut: its
// owner must end that connection, and its bytes no longer count. So a source
// that holds little is served however much others hold (max-min fairness),
// and a source loses a connection only to one that then still holds less. A
// refused request costs no source a connection.
//
// A cut account counts as free before its memory is free, so for a moment
// more than the total may be held: by the amount that is being returned.

// ErrExceeded is wrapped by all errors of this package. Nothing was taken; a
// later try may succeed, when other accounts have returned some.
var ErrExceeded = errors.New("over budget")

// ErrCut is wrapped by the error that an account's cut function gets,
// together with ErrExceeded.
var ErrCut = errors.New("cut to make room for others")

// Budget is one resource. All methods are safe for concurrent use. A nil Budget
// is without bounds and counts nothing.
type Budget struct {
	name         string
	total, share int64
	replace      bool

	mu      sync.Mutex
	used    int64
	sources map[string]*source
	spare   *source // a source without accounts: requests come and go one by one
	arrived uint64
	refused uint64
	cuts    uint64
}

// source counts the holdings of one source. Its accounts are few enough
// for a linear search, or searched only when the total is exceeded.
type source struct {
	name     string
	used     int64
	accounts *Account // the first of a list
}

// Account counts the holdings of one connection. The methods are safe for
// concurrent use, and do nothing on a nil Account.
type Account struct {
	b     *Budget
	of    *source
	next  *Account // of the same source
	prev  *Account
	age   uint64 // a greater one came later
	held  int64
	cut   func(error)
	ended bool // closed or cut: it holds nothing any more
}

// NewBudget returns a budget. name says for people what is counted ("bytes of
// answers"). share is at most total.
func NewBudget(name string, total, share int64) *Budget {
	return &Budget{name: name, total: total, share: min(share, total), sources: map[string]*source{}}
}

// NewReplacingBudget returns a budget that never refuses the latest account for
// the total: it cuts the oldest account of the source that holds most, even
// if it is the same source. It is for peers that have not spoken: an honest
// peer speaks at once, so the oldest is the least likely to.
func NewReplacingBudget(name string, total int64) *Budget {
	b := NewBudget(name, total, total)
	b.replace = true
	return b
}

// Open begins an account that holds nothing. cut is called at most once, from
// the goroutine that needs the room, and must not wait: it ends the connection,
// soon. Close the account in any case.
func (b *Budget) Open(from string, cut func(error)) *Account {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sources[from]
	if s == nil {
		if s, b.spare = b.spare, nil; s == nil {
			s = new(source)
		}
		s.name = from
		b.sources[from] = s
	}
	b.arrived++
	a := &Account{b: b, of: s, age: b.arrived, cut: cut, next: s.accounts}
	if a.next != nil {
		a.next.prev = a
	}
	s.accounts = a
	return a
}

// Take adds n to the account. If that exceeds the budget, the error wraps
// ErrExceeded, and nothing was taken.
func (a *Account) Take(n int64) error {
	if a == nil || n == 0 {
		return nil
	}
	victims, err := a.take(n)
	for _, v := range victims {
		v.cut(fmt.Errorf("%w: %w: %s", ErrExceeded, ErrCut, a.b.name))
	}
	return err
}

func (a *Account) take(n int64) (victims []*Account, err error) {
	b := a.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.ended {
		return nil, fmt.Errorf("%w: %s: this connection was cut", ErrExceeded, b.name)
	}
	have := a.of.used
	if b.replace { // the others of the source give way
		have = a.held
	}
	if have+n > b.share {
		b.refused++
		return nil, fmt.Errorf("%w: %s: %d more to the %d that %s holds, limit %d for one source",
			ErrExceeded, b.name, n, have, a.of.name, b.share)
	}
	victims, ok := b.victims(a, n)
	if !ok {
		b.refused++
		return nil, fmt.Errorf("%w: %s: %d more to the %d that all hold, limit %d",
			ErrExceeded, b.name, n, b.used, b.total)
	}
	for _, v := range victims {
		v.end()
		b.cuts++
	}
	a.add(n)
	return victims, nil
}

// victims returns the accounts to cut so that a may hold n more; not ok if a
// must be refused. It changes nothing. The caller holds mu.
func (b *Budget) victims(a *Account, n int64) (l []*Account, ok bool) {
	var cut cuts
	for used := b.used; used+n > b.total; {
		v := b.victim(a, n, &cut)
		if v == nil {
			return nil, false
		}
		cut.add(v)
		l = append(l, v)
		used -= v.held
	}
	return l, true
}

// cuts are accounts that are about to be cut.
type cuts struct {
	of   map[*source]int64 // what they hold
	gone map[*Account]bool
}

func (c *cuts) add(v *Account) {
	if c.of == nil {
		c.of, c.gone = map[*source]int64{}, map[*Account]bool{}
	}
	c.of[v.of] += v.held
	c.gone[v] = true
}

// victim returns the account to cut next so that a may hold n more, nil if a
// must be refused. The caller holds mu.
func (b *Budget) victim(a *Account, n int64, cut *cuts) *Account {
	var most *source
	held := int64(0) // of most
	for _, s := range b.sources {
		if left := s.used - cut.of[s]; (s != a.of || b.replace) && left > held {
			most, held = s, left
		}
	}
	if most == nil || !b.replace && held <= a.of.used+n {
		return nil
	}
	var v *Account
	for o := most.accounts; o != nil; o = o.next {
		switch {
		case o == a || o.held == 0 || cut.gone[o]:
		case v == nil,
			b.replace && o.age < v.age,
			// Of equal accounts the latest: a flood comes last.
			!b.replace && (o.held > v.held || o.held == v.held && o.age > v.age):
			v = o
		}
	}
	return v
}

// add is called with mu held.
func (a *Account) add(n int64) {
	a.held += n
	a.of.used += n
	a.b.used += n
}

// end forgets an account. The caller holds mu.
func (a *Account) end() {
	a.add(-a.held)
	a.ended = true
	if a.next != nil {
		a.next.prev = a.prev
	}
	if a.prev != nil {
		a.prev.next = a.next
	} else if a.of.accounts = a.next; a.next == nil {
		delete(a.b.sources, a.of.name)
		a.b.spare = a.of
	}
	a.next, a.prev = nil, nil
}

// Give returns n of the account's holdings; a larger n is the caller's
// mistake and counts as all.
func (a *Account) Give(n int64) {
	if a == nil {
		return
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	if !a.ended {
		a.add(-min(n, a.held))
	}
}

// Held returns the account's holdings.
func (a *Account) Held() int64 {
	if a == nil {
		return 0
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	return a.held
}

// Close returns everything. A second call does nothing.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	if !a.ended {
		a.end()
	}
}

// Use is the state of a budget.
type Use struct {
	Name    string `json:"name"`
	Used    int64  `json:"used"`
	Limit   int64  `json:"limit"`
	Share   int64  `json:"share"`   // limit of one source
	Sources int    `json:"sources"` // that have a connection
	Refused uint64 `json:"refused"` // requests for more
	Cut     uint64 `json:"cut"`     // connections ended to make room
}

// Use returns the current state, the zero Use for a nil Budget.
func (b *Budget) Use() Use {
	if b == nil {
		return Use{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return Use{
		Name: b.name, Used: b.used, Limit: b.total, Share: b.share,
		Sources: len(b.sources), Refused: b.refused, Cut: b.cuts,
	}
}
