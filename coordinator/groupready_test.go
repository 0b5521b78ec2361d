package coordinator

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// A member is ready while it is in sync, whatever its role, and alive in any case. Its
// metrics have its role.
func TestReadiness(t *testing.T) {
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	dir := t.TempDir()
	ask := map[string]func(string) (int, string){}
	for _, name := range []string{"n1", "n2"} {
		d, err := memberOf{Coordinator: c.Addr(), Node: name, Dir: filepath.Join(dir, name), set: func(o *daemon.Options) {
			o.Metrics.Addr, o.HTTP.Addr = "127.0.0.1:0", "127.0.0.1:0"
		}}.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close(t.Context()) })
		ask[name] = func(path string) (int, string) {
			addr := d.Addrs().Metrics
			if rest, ok := strings.CutPrefix(path, "http:"); ok {
				addr, path = d.Addrs().HTTP, rest
			}
			r, err := http.Get("http://" + addr + path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			return r.StatusCode, string(b)
		}
	}
	is := func(name string, ready int, role string) {
		t.Helper()
		for _, path := range []string{"/readyz", "http:/readyz"} {
			catfishtest.Eventually(t, name+" is "+role+" by "+path, func() bool { code, _ := ask[name](path); return code == ready })
		}
		for _, path := range []string{"/healthz", "http:/healthz"} {
			if code, text := ask[name](path); code != http.StatusOK {
				t.Errorf("%s of a %s: %d %s", path, role, code, text)
			}
		}
		line := `catfish_group_role{group="g",node="` + name + `",role="` + role + `"} 1` + "\n"
		catfishtest.Eventually(t, "metrics have "+line, func() bool { _, text := ask[name]("/metrics"); return strings.Contains(text, line) })
	}
	is("n1", http.StatusOK, "primary")
	is("n2", http.StatusOK, "secondary")
	catfishtest.Eventually(t, "the primary's metrics have its follower", func() bool {
		_, text := ask["n1"]("/metrics")
		return strings.Contains(text, `catfish_group_follower_lag_seconds{follower="n2",group="g",node="n1"} 0`+"\n")
	})
	if err := node.Remove(t.Context(), dial(t, c.Addr()), "g", "n2"); err != nil {
		t.Fatal(err)
	}
	is("n2", http.StatusServiceUnavailable, "learner")
	is("n1", http.StatusOK, "primary")
}
