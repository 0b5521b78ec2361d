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
// An answer is complete when it is sent, so it is compressed as a whole, and its length
// is known: HEAD has the same headers as GET. An encoder is in use only while it
// computes, not while a client takes its answer.

const (
	// encoderBytes is more than either encoder takes: 0.9 MB were measured.
	encoderBytes = 1 << 20
	// zstdWindow is zstd's window, four times gzip's largest. A larger window makes
	// answers of 1 MB 3% smaller, and encoders twice as large.
	zstdWindow = 128 << 10
	// codedStep is the number of bytes compressed between two pauses: 0.2 ms.
	codedStep = 64 << 10
)

// encoder is either encoder.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

// encoders pools unused encoders, at the fastest levels: other levels make answers a
// few percent smaller and take two to five times as long.
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

// encode appends body to dst in coding c. It calls pause between steps. It ends with
// pause's error, or with errTooLong if the result is no smaller than body.
func encode(c coding, dst, body []byte, pause func(size int) error) ([]byte, error) {
	e := encoders[c].Get().(encoder)
	defer func() {
		e.Reset(io.Discard) // The encoder must not keep dst.
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

// appender appends what is written to a slice, up to a maximum length.
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

// compress compresses an answer's body into out. If ok is false the body stays as it
// is: it does not become smaller, or there is no memory for an encoder.
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
