package web

import (
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/catfish-index/catfish/internal/limits"
)

// Compressing answers (docs/decisions/compression.md)
//
// An answer is whole when it is sent, so it is compressed as a whole, and its length
// is known: HEAD has the same headers as GET, and an encoder is in use for as long as
// it computes, not for as long as a client takes its answer.

const (
	// encoderBytes is more than either encoder has: 0.9 MB were measured.
	encoderBytes = 1 << 20
	// zstdWindow is how far back zstd looks, four times as far as gzip can. A larger
	// one makes answers of 1 MB 3% smaller, and encoders twice as large.
	zstdWindow = 128 << 10
	// codedStep is what is compressed between two pauses: 0.2 ms.
	codedStep = 64 << 10
)

// encoder is one of the two.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

// encoders that are not in use. The fastest levels: others make answers a few percent
// smaller and take two to five times as long.
var encoders = [codings]sync.Pool{
	gzipCoding: {New: func() any {
		e, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		if err != nil {
			panic(err) // The level is a constant.
		}
		return e
	}},
	zstdCoding: {New: func() any {
		e, err := zstd.NewWriter(io.Discard, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindow), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // The options are constants.
		}
		return e
	}},
}

// encode appends body by a coding to dst, and calls pause now and then, whose error
// ends it, as does a result that is no smaller (errTooLong).
func encode(c coding, dst, body []byte, pause func(size int) error) ([]byte, error) {
	e := encoders[c].Get().(encoder)
	defer func() {
		e.Reset(io.Discard) // It must not keep dst.
		encoders[c].Put(e)
	}()
	out := appender{dst, len(dst) + len(body)}
	e.Reset(&out)
	for first := true; len(body) > 0; first = false {
		if !first {
			if err := pause(cap(out.b)); err != nil {
				return out.b, err
			}
		}
		n := min(codedStep, len(body))
		if _, err := e.Write(body[:n]); err != nil {
			return out.b, err
		}
		body = body[n:]
	}
	err := e.Close()
	return out.b, err
}

// appender is a slice to write to, until it is too long.
type appender struct {
	b    []byte
	most int
}

func (a *appender) Write(p []byte) (int, error) {
	if len(a.b)+len(p) > a.most {
		return 0, errTooLong
	}
	a.b = append(a.b, p...)
	return len(p), nil
}

var errTooLong = errors.New("web: an answer does not become smaller")

// compress makes an answer's body smaller, into out. Not ok: it stays as it is, because
// it does not become smaller, or because there is no memory for that.
func (q *request) compress(c coding, out *[]byte, body []byte) (ok bool) {
	if q.account.Take(encoderBytes) != nil {
		return false
	}
	defer q.account.Give(encoderBytes)
	p := &limits.Pacer{Of: q.host, Ctx: q.ctx, Source: q.source}
	defer p.End()
	b, err := encode(c, (*out)[:0], body, func(size int) error {
		if err := q.hold(&q.holds.coded, int64(size)); err != nil {
			return err
		}
		return p.Pause()
	})
	*out = b
	return err == nil && q.hold(&q.holds.coded, int64(cap(b))) == nil
}
