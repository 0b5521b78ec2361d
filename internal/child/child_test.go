package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/affinity"
)

// childArg makes this test binary a child process of a role.
const childArg = "child"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == childArg {
		if err := work(os.Args[2]); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

type line struct {
	Value int `json:"value"`
}

// work adds 1 to each number that it receives, after its role's fault.
func work(role string) error {
	p := NewPipe(os.Stdin, os.Stdout)
	var job line
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	switch role {
	case "panics":
		panic("as asked")
	case "fails":
		return p.Fail(errors.New("no such thing"))
	case "babbles":
		fmt.Println("hello")
	case "strays":
		fmt.Println(`{"value":"text"}`)
	}
	for l := job; ; {
		p.Note("adding")
		if err := p.Write(line{l.Value + 1}); err != nil {
			return err
		}
		if err := p.Read(&l); err != nil {
			return p.Fail(err)
		}
	}
}

func spawn(role Role, _ affinity.Set) *exec.Cmd {
	return exec.Command(os.Args[0], childArg, string(role))
}

func TestConversation(t *testing.T) {
	var notes []string
	c, err := Start(spawn, "adds", nil, line{1}, func(s string) { notes = append(notes, s) })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	for want := 2; want < 5; want++ {
		var got line
		if err := c.Next(t.Context(), &got); err != nil || got.Value != want {
			t.Fatalf("got %d, %v, want %d", got.Value, err, want)
		}
		if err := c.Send(got); err != nil {
			t.Fatal(err)
		}
	}
	if len(notes) != 3 || notes[0] != "adding" {
		t.Errorf("notes %q", notes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent, err := Start(spawn, "adds", nil, struct{}{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Stop()
	for err = nil; err == nil; { // One answer may have arrived already.
		err = silent.Next(ctx, new(line))
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Each fault of a child becomes an error that names it.
func TestFaults(t *testing.T) {
	for role, says := range map[Role]string{
		"panics":  "ended early:\npanic: as asked",
		"fails":   "(fails): no such thing",
		"babbles": `spoke no JSON: "hello`,
		"strays":  "cannot unmarshal string",
	} {
		c, err := Start(spawn, role, nil, line{1}, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Next(t.Context(), new(line))
		c.Stop()
		if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want ErrFailed saying %q", role, err, says)
		}
	}
	none := func(Role, affinity.Set) *exec.Cmd { return exec.Command("/does/not/exist") }
	if _, err := Start(none, "none", nil, line{}, nil); !errors.Is(err, ErrFailed) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
}

// The end of the parent is no failure.
func TestPipeEnds(t *testing.T) {
	var out strings.Builder
	p := NewPipe(strings.NewReader("{\n"), &out)
	if err := p.Fail(p.Read(new(line))); err == nil || !strings.Contains(out.String(), "line from the parent") {
		t.Errorf("a broken line: %v, wrote %q", err, out.String())
	}
	if err := p.Read(new(line)); !errors.Is(err, io.EOF) || p.Fail(err) != nil {
		t.Errorf("at the end: %v", err)
	}
}
