package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/catfish-index/catfish/internal/certs/certstest"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// serve accepts the configuration that the chart renders from its values.
// deploy/helm/rendered is helm's output (make helm).
func TestHelmConfig(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	clitest.Succeed(t, "keys", "add", "-f", keys, "--name", "web", "--role", "*:read")
	ca := certstest.NewCA(t, dir, "ca")
	cert, key := ca.Issue(t, "server", 1)
	files := strings.NewReplacer("/etc/catfish/keys/keys", keys, "/etc/catfish/member/key", keys,
		"/etc/catfish/tls/tls.crt", cert, "/etc/catfish/tls/tls.key", key, "/etc/catfish/tls/ca.crt", ca.File,
		"/etc/catfish/coordinator/tls.crt", cert, "/etc/catfish/coordinator/tls.key", key, "/etc/catfish/coordinator/ca.crt", ca.File)
	of := map[string][]string{"group": { // by arguments
		"--node", "$(POD_NAME)", "--advertise", "$(POD_NAME).places-catfish-members.geo.svc:7119",
	}}
	for name, settings := range map[string]int{"default": 7, "all": 14, "group": 21} {
		t.Run(name, func(t *testing.T) {
			r := readRendered(t, name)
			want := append([]string{"serve", "--config", "/etc/catfish/config/catfish.yaml"}, of[name]...)
			if !slices.Equal(r.args, want) {
				t.Errorf("the container is started with %q, want %q", r.args, want)
			}
			text := files.Replace(r.config)
			if of[name] != nil {
				text += "node: n1\nadvertise: n1:7119\n"
			}
			if strings.Contains(text, "/etc/catfish") {
				t.Errorf("files that this test does not know: %s", text)
			}
			says := clitest.Succeed(t, "config", "check", clitest.File(t, name+".yaml", text))
			if !strings.Contains(says, fmt.Sprintf(": %d settings", settings)) {
				t.Errorf("%s of\n%s", says, text)
			}
			// The ports are those that the server listens at.
			for name, port := range r.ports {
				setting := map[string]string{"rpc": "listen"}[name]
				if setting == "" {
					setting = name
				}
				if want := fmt.Sprintf("%s: 0.0.0.0:%d\n", setting, port); !strings.Contains(r.config+"\n", want) {
					t.Errorf("there is no %s in\n%s", want, r.config)
				}
			}
			if len(r.ports) != 4 {
				t.Errorf("ports %v", r.ports)
			}
		})
	}
}

// The chart's alerts are those of deploy/prometheus: a chart cannot use files outside of
// its directory.
func TestHelmAlerts(t *testing.T) {
	var texts [2][]byte
	for i, path := range []string{"prometheus/alerts.yml", "helm/catfish/alerts.yml"} {
		var err error
		if texts[i], err = os.ReadFile(filepath.Join("../../deploy", path)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("deploy/helm/catfish/alerts.yml is another than deploy/prometheus/alerts.yml: copy it")
	}
}

// rendered is the server's part of a rendered chart.
type rendered struct {
	config string
	args   []string
	ports  map[string]int
}

func readRendered(t *testing.T, name string) (r rendered) {
	t.Helper()
	f, err := os.Open("../../deploy/helm/rendered/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r.ports = map[string]int{}
	for d := yaml.NewDecoder(f); ; {
		var o struct {
			Kind string
			Data map[string]string
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct {
							Name  string
							Args  []string
							Ports []struct {
								Name          string
								ContainerPort int `yaml:"containerPort"`
							}
						}
					}
				}
			}
		}
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return r
		} else if err != nil {
			t.Fatal(err)
		}
		if o.Kind == "ConfigMap" {
			r.config = o.Data["catfish.yaml"]
		}
		for _, c := range o.Spec.Template.Spec.Containers {
			if c.Name == "coordinator" {
				continue // Its own test reads its arguments.
			}
			r.args = c.Args
			for _, p := range c.Ports {
				r.ports[p.Name] = p.ContainerPort
			}
		}
	}
}
