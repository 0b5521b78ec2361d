package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// said has the keys that a child's line may hold beside the caller's own.
type said struct {
	Note  string `json:"note,omitempty"`  // progress, for the user
	Error string `json:"error,omitempty"` // ends the child
}

// Pipe is a child's end of the conversation with its parent. One goroutine
// may read while another writes.
type Pipe struct {
	in  *bufio.Reader
	out *json.Encoder
}

// NewPipe returns a Pipe over a child's standard input and output.
func NewPipe(in io.Reader, out io.Writer) *Pipe {
	return &Pipe{in: bufio.NewReader(in), out: json.NewEncoder(out)}
}

// Read decodes one line; io.EOF when the parent has ended.
func (p *Pipe) Read(v any) error {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return io.EOF
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("child: line from the parent: %w", err)
	}
	return nil
}

// Write sends one line to the parent.
func (p *Pipe) Write(v any) error { return p.out.Encode(v) }

// Note sends a line of progress to the parent's user.
func (p *Pipe) Note(s string) {
	_ = p.out.Encode(said{Note: s}) // A parent that has ended needs no notes.
}

// Fail sends the parent the reason of the child's end, and returns err;
// io.EOF, the end of the parent, is no failure.
func (p *Pipe) Fail(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		_ = p.out.Encode(said{Error: err.Error()})
		return err
	}
	return nil
}
