package offload

import "sync"

// Shared holds values that clients share by key, for instance a cache of each
// server's blocks: a value exists as long as a client uses it. The zero value
// is ready for use, by any number of goroutines.
type Shared[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]*shared[V]
}

type shared[V any] struct {
	v     V
	users int
}

// Share returns the value shared under the key, made by make for the first user,
// and a function that releases it. The last user's release drops the value.
func (s *Shared[K, V]) Share(k K, make func() V) (V, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of[k]
	if e == nil {
		if s.of == nil {
			s.of = map[K]*shared[V]{}
		}
		e = &shared[V]{v: make()}
		s.of[k] = e
	}
	e.users++
	return e.v, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e.users--; e.users == 0 {
			delete(s.of, k)
		}
	})
}

// Len is the number of shared values.
func (s *Shared[K, V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of)
}
