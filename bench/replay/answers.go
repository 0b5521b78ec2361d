package replay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// A process sends its answers to the parent in a file, in the order of its
// part of the list: too many for lines of JSON.
//
//	count uvarint | sum u64 | ids uvarint | ids u64 each, ascending

func writeAnswers(job Job, answers []answer) error {
	f, err := os.Create(job.Answers)
	if err != nil {
		return fmt.Errorf("replay: answers: %w", err)
	}
	w := bufio.NewWriter(f)
	var b []byte
	for _, a := range answers {
		slices.Sort(a.ids)
		b = binary.AppendUvarint(b[:0], a.count)
		b = binary.LittleEndian.AppendUint64(b, a.sum)
		b = binary.AppendUvarint(b, uint64(len(a.ids)))
		for _, id := range a.ids {
			b = binary.LittleEndian.AppendUint64(b, id)
		}
		if _, err = w.Write(b); err != nil {
			break
		}
	}
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("replay: answers: %w", err)
	}
	return nil
}

// answersReader reads one such file.
type answersReader struct {
	f *os.File
	r *bufio.Reader
}

func openAnswers(path string) (*answersReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replay: answers: %w", err)
	}
	return &answersReader{f, bufio.NewReader(f)}, nil
}

// next reads into a, whose ids it overwrites.
func (r *answersReader) next(a *answer) error {
	err := r.read(a)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // The list has more requests.
	}
	if err != nil {
		return fmt.Errorf("replay: answers in %s: %w", r.f.Name(), err)
	}
	return nil
}

func (r *answersReader) read(a *answer) (err error) {
	if a.count, err = binary.ReadUvarint(r.r); err != nil {
		return err
	}
	var b [8]byte
	if _, err := io.ReadFull(r.r, b[:]); err != nil {
		return err
	}
	a.sum = binary.LittleEndian.Uint64(b[:])
	n, err := binary.ReadUvarint(r.r)
	if err != nil {
		return err
	}
	a.ids = a.ids[:0]
	for range n {
		if _, err := io.ReadFull(r.r, b[:]); err != nil {
			return err
		}
		a.ids = append(a.ids, binary.LittleEndian.Uint64(b[:]))
	}
	return nil
}

func (r *answersReader) close() { r.f.Close() } // only read: nothing to lose
