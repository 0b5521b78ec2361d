package store

import "github.com/catfish-index/catfish/internal/feature"

// cutting wraps a yield so that it gets only the selected parts.
func (b *Buffer) cutting(s *feature.Selection, yield func(*Found) (bool, error)) func(*Found) (bool, error) {
	if s.All() {
		return yield
	}
	return func(f *Found) (bool, error) {
		b.cut = f.Cut(b.cut[:0], s)
		return yield(f)
	}
}
