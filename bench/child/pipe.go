package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// said is what a child's line may hold beside the caller's own keys.
type said struct {
	Note  string `json:"note,omitempty"`  // progress, for people
	Error string `json:"error,omitempty"` // ends the child
}

// Pipe is a child's end of the conversation with its parent. One goroutine
// may read while another writes.
type Pipe struct {
	in  *bufio.Reader
	out *json.Encoder
}

// NewPipe is over a child's standard input and output.
func NewPipe(in io.Reader, out io.Writer) *Pipe {
	return &Pipe{in: bufio.NewReader(in), out: json.NewEncoder(out)}
}

// Read decodes one line; io.EOF when the parent is gone.
func (p *Pipe) Read(v any) error {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return io.EOF
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("bench: line from the parent: %w", err)
	}
	return nil
}

// Write sends one line to the parent.
func (p *Pipe) Write(v any) error { return p.out.Encode(v) }

// Note tells people at the parent's end what goes on.
func (p *Pipe) Note(s string) {
	_ = p.out.Encode(said{Note: s}) // A parent that has gone needs no notes.
}

// Fail tells the parent why the child ends, and returns err; io.EOF, a
// parent that has gone, is no failure.
func (p *Pipe) Fail(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		_ = p.out.Encode(said{Error: err.Error()})
		return err
	}
	return nil
}
