package api

import (
	"context"

	"github.com/catfish-index/catfish/internal/turns"
)

// pacer lets a search of features take turns with others that take long. Most take
// none, so its source is looked up when it does.
type pacer struct{ turns.Pacer }

func (s *features) pacer(ctx context.Context) *pacer {
	return &pacer{turns.Pacer{Of: s.turns, Ctx: ctx}}
}

func (p *pacer) pace() error {
	if p.Source == "" {
		p.Source = sourceOf(p.Ctx)
	}
	return p.Pause()
}

func (p *pacer) end() { p.End() }
