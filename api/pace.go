package api

import (
	"context"

	"github.com/catfish-index/catfish/internal/limits"
)

// pacer shares the scheduling slots between a search of features and other long
// calls. Most searches use none, so the source is looked up only when one does.
type pacer struct{ limits.Pacer }

func (s *features) pacer(ctx context.Context) *pacer {
	return &pacer{limits.Pacer{Of: s.boxes.Host, Ctx: ctx}}
}

func (p *pacer) pace() error {
	if p.Source == "" {
		p.Source = sourceOf(p.Ctx)
	}
	return p.Pause()
}

func (p *pacer) end() { p.End() }
