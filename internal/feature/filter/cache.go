package filter

import (
	"container/list"
	"sync"
)

// Cache compiles expressions and keeps the most recently used programs, because
// clients send the same few texts again and again. It is safe for concurrent
// use.
type Cache struct {
	compile func(expr string) (*Program, error)
	size    int

	mu     sync.Mutex
	byText map[string]*list.Element
	recent *list.List // of *Program, the most recently used first
}

// NewCache returns a cache of at most size programs, at least one, that compile makes.
// Expressions that do not compile are not kept.
func NewCache(size int, compile func(expr string) (*Program, error)) *Cache {
	return &Cache{
		compile: compile,
		size:    max(1, size),
		byText:  make(map[string]*list.Element),
		recent:  list.New(),
	}
}

// Compile returns the program of expr. While several callers ask
// for a new text at the same time, each compiles it, and one program is kept.
func (c *Cache) Compile(expr string) (*Program, error) {
	if p := c.get(expr); p != nil {
		return p, nil
	}
	p, err := c.compile(expr)
	if err != nil {
		return nil, err
	}
	return c.put(p), nil
}

// Has reports whether the program of expr is kept, so that Compile need not compile it.
func (c *Cache) Has(expr string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byText[expr] != nil
}

// Len returns the number of kept programs.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

func (c *Cache) get(expr string) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byText[expr]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*Program)
}

// put keeps p, or returns the program of the same text that another caller kept.
func (c *Cache) put(p *Program) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byText[p.text]; e != nil {
		return e.Value.(*Program)
	}
	c.byText[p.text] = c.recent.PushFront(p)
	if c.recent.Len() > c.size {
		oldest := c.recent.Remove(c.recent.Back()).(*Program)
		delete(c.byText, oldest.text)
	}
	return p
}
