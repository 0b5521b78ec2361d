package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// watchLines runs watch until end is called, and sends its lines.
func watchLines(t *testing.T, addr string, args ...string) (lines chan eventJSON, end func() (code int, errOut string)) {
	t.Helper()
	r, w := io.Pipe()
	var errOut bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	root := newRoot(&App{In: strings.NewReader(""), Out: w, Err: &errOut})
	root.SetArgs(at(addr, append([]string{"watch"}, args...)...))
	code := make(chan int, 1)
	go func() {
		cmd, err := root.ExecuteContextC(ctx)
		code <- (Program{}).exitCode(ctx, cmd, err, &errOut)
		w.Close()
	}()
	lines = make(chan eventJSON, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			var e eventJSON
			if err := json.Unmarshal(s.Bytes(), &e); err != nil {
				t.Errorf("%s: %v", s.Text(), err)
			}
			lines <- e
		}
	}()
	return lines, func() (int, string) { cancel(); return <-code, errOut.String() }
}

// watch prints the changes in an area, by each transport; a signal ends it with success,
// and so does --limit; --from continues.
func TestWatchCommand(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	clitest.Succeed(t, "collections", "create", "cafes", "--features", "--server", addr)
	put := func(id string, x float64, seats int) {
		t.Helper()
		place := fmt.Sprintf(`{"type":"Feature","id":%q,"geometry":{"type":"Point","coordinates":[%v,42.5]},"properties":{"seats":%d}}`, id, x, seats)
		if code, _, says := programIn(t, place, at(addr, "put")...); code != ExitOK {
			t.Fatal(says)
		}
	}
	for _, transport := range []string{"auto", "soft", "tcp"} {
		lines, end := watchLines(t, addr, "--bbox", "1,42,2,43", "--filter", "properties.seats > 10", "--old", "--progress", "--transport", transport)
		if first := <-lines; first.Kind != "progress" || first.Resume == 0 {
			t.Fatalf("%+v", first)
		}
		put("a", 1.5, 20)
		put("a", 1.6, 20)
		put("a", 1.6, 5)
		put("b", 5, 50)
		put("b", 1.1, 50)
		clitest.Succeed(t, at(addr, "features", "delete", "a", "b")...)
		var got []string
		var from, history []uint64
		for e := range lines {
			if e.Kind == "progress" {
				continue
			}
			var now, old struct {
				ID       string
				Geometry struct{ Coordinates []float64 }
			}
			for text, to := range map[*json.RawMessage]any{&e.Feature: &now, &e.Old: &old} {
				if *text != nil {
					if err := json.Unmarshal(*text, to); err != nil {
						t.Error(err)
					}
				}
			}
			got = append(got, fmt.Sprint(e.Kind, e.Why, " ", e.ID, now.Geometry.Coordinates, old.Geometry.Coordinates))
			from, history = append(from, e.Resume), append(history, e.History)
			if len(got) == 5 {
				break
			}
		}
		want := "enter a[1.5 42.5] [] inside a[1.6 42.5] [1.5 42.5] exitfiltered a[1.6 42.5] [1.6 42.5] enter b[1.1 42.5] [5 42.5] exitdeleted b[] [1.1 42.5]"
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s\ngot  %s\nwant %s", transport, text, want)
		}
		if code, says := end(); code != ExitOK || says != "" {
			t.Errorf("by a signal: %d, %s", code, says)
		}
		out := clitest.Succeed(t, at(addr, "watch", "--bbox", "1,42,2,43", "--from", fmt.Sprint(from[0]), "--history", fmt.Sprint(history[0]), "--limit", "2")...)
		if n := strings.Count(out, "\n"); n != 2 || !strings.Contains(out, `"inside"`) || strings.Contains(out, "old") {
			t.Errorf("from %d: %s", from[0], out)
		}
		clitest.Fail(t, ExitFailure, at(addr, "watch", "--from", fmt.Sprint(from[0]), "--history", fmt.Sprint(history[0]^1)), "lost changes", "Search again")
	}
	clitest.Fail(t, ExitUsage, at(addr, "watch", "--limit", "-1"), "--limit")
	clitest.Fail(t, ExitUsage, at(addr, "watch", "--radius", "5"), "--near")
	clitest.Fail(t, ExitFailure, at(addr, "watch", "--from", "1"), "lost changes", "Search again")
	clitest.Fail(t, ExitFailure, []string{"watch", "-c", "none", "-s", addr}, "unknown collection")
	if code, says := dropped(t, addr); code != ExitFailure || !strings.Contains(says, "dropped") {
		t.Errorf("after the drop: %d, %s", code, says)
	}
}

// dropped watches a collection that is dropped.
func dropped(t *testing.T, addr string) (code int, says string) {
	t.Helper()
	lines, end := watchLines(t, addr, "--progress")
	<-lines
	c, err := catfish.Dial(t.Context(), addr, catfish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if ok, err := c.DropCollection(t.Context(), "cafes"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for range lines { // It ends when the collection is dropped.
	}
	return end()
}
