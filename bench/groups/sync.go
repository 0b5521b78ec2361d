package groups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
)

// sync adds new members to a primary with many features: one without writers, then one
// with some.
func (l *lab) sync(ctx context.Context, c cell) error {
	if c.network == Namespaces {
		l.note(fmt.Sprintf("sync over %v: left out, the network of namespaces would be what is measured", c))
		return nil
	}
	return l.with(ctx, c, setup{1, Received}, func(g *group) error {
		l.note(fmt.Sprintf("sync over %v: %d features", c, l.cfg.Objects))
		if _, err := harness.Ask[any](ctx, g.clients, command{Do: doFill, Objects: l.cfg.Objects}); err != nil {
			return err
		}
		for _, writers := range []bool{false, true} {
			r := l.row(Sync, c)
			r.Copy = &SyncRow{Objects: l.cfg.Objects, Writers: writers}
			if writers {
				if _, err := harness.Ask[any](ctx, g.clients, command{Do: doBegin}); err != nil {
					return err
				}
			}
			l.note(fmt.Sprintf("sync over %v: member %d, writers: %v", c, len(g.Members)+1, writers))
			if err := r.Copy.measure(ctx, l, g); err != nil {
				return err
			}
			l.done(r)
		}
		_, err := harness.Ask[Window](ctx, g.clients, command{Do: doEnd})
		return err
	})
}

func (s *SyncRow) measure(ctx context.Context, l *lab, g *group) error {
	primary := g.Members[0]
	if err := s.settle(ctx, l, g); err != nil {
		return err
	}
	began := time.Now()
	before, err := cpu(primary)
	if err != nil {
		return err
	}
	m := g.Add()
	if err := g.StartMember(ctx, m, g.args...); err != nil {
		return err
	}
	if err := g.Whole(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := cpu(primary)
	if err != nil {
		return err
	}
	s.Seconds, s.CPU, s.CPUIdle = took.Seconds(), (after - before).Seconds(), s.CPUIdle*took.Seconds()
	if s.Writers {
		w, err := harness.Ask[Window](ctx, g.clients, command{Do: doWindow})
		if err != nil {
			return err
		}
		s.During, s.Errors, s.First = w.rate(), w.Errors, w.First
	}
	if s.Bytes, err = bytesOf(g.DataDir(m.Name)); err != nil {
		return err
	}
	s.MBs = stats.Ratio(float64(s.Bytes)/1e6, s.Seconds)
	return s.link(ctx, g.cell)
}

// settle measures the time before: the primary's processor time in a second, and the writes.
func (s *SyncRow) settle(ctx context.Context, l *lab, g *group) error {
	if err := harness.Sleep(ctx, l.cfg.Warmup); err != nil {
		return err
	}
	if s.Writers {
		if _, err := harness.Ask[Window](ctx, g.clients, command{Do: doWindow}); err != nil {
			return err
		}
	}
	began := time.Now()
	before, err := cpu(g.Members[0])
	if err != nil {
		return err
	}
	if err := harness.Sleep(ctx, l.cfg.Duration); err != nil {
		return err
	}
	after, err := cpu(g.Members[0])
	if err != nil {
		return err
	}
	s.CPUIdle = stats.Ratio(float64(after-before), float64(time.Since(began)))
	if s.Writers {
		w, err := harness.Ask[Window](ctx, g.clients, command{Do: doWindow})
		if err != nil {
			return err
		}
		s.Before = w.rate()
	}
	return nil
}

func (w *Window) rate() float64 { return stats.Ratio(float64(w.Writes), w.Elapsed.Seconds()) }

// bytesOf is the size of all files of a directory. A server may remove some meanwhile.
func bytesOf(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var i fs.FileInfo
			if i, err = d.Info(); err == nil {
				n += i.Size()
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	return n, err
}
