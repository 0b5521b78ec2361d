package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// helmObject is what TestHelmGroupFits reads of an object of a chart.
type helmObject struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Replicas    int
		ServiceName string `yaml:"serviceName"`
		Ports       []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Spec struct {
				Containers []struct {
					Args  []string
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

// In the chart of a group the addresses that members and coordinators have of each other are
// pods of a StatefulSet, behind a Service that has the port, which the container opens; and
// files are in volumes that are mounted.
func TestHelmGroupFits(t *testing.T) {
	f, err := os.Open("../../deploy/helm/rendered/group.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sets []helmObject
	services := map[string]helmObject{}
	var config string
	for d := yaml.NewDecoder(f); ; {
		var o helmObject
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch o.Kind {
		case "StatefulSet":
			sets = append(sets, o)
		case "Service":
			services[o.Metadata.Name] = o
		case "ConfigMap":
			config = o.Data["catfish.yaml"]
		}
	}
	known := map[string]bool{} // host:port
	var text strings.Builder
	text.WriteString(config)
	for _, s := range sets {
		if s.Spec.Replicas != 3 {
			t.Errorf("%d of %s, want 3", s.Spec.Replicas, s.Metadata.Name)
		}
		c := s.Spec.Template.Spec.Containers[0]
		open := map[string]int{}
		for _, p := range c.Ports {
			open[p.Name] = p.ContainerPort
		}
		volumes := map[string]bool{}
		for _, v := range s.Spec.Template.Spec.Volumes {
			volumes[v.Name] = true
		}
		for _, v := range s.Spec.VolumeClaimTemplates {
			volumes[v.Metadata.Name] = true
		}
		args := strings.Join(c.Args, "\n")
		files := args
		if c.Args[0] == "serve" {
			files += "\n" + config
		}
		for _, path := range helmPath.FindAllString(files, -1) {
			mounted := false
			for _, m := range c.VolumeMounts {
				mounted = mounted || strings.HasPrefix(path, m.MountPath+"/") && volumes[m.Name]
			}
			if !mounted {
				t.Errorf("%s of %s is in no volume that is mounted", path, s.Metadata.Name)
			}
		}
		for _, p := range services[s.Spec.ServiceName].Spec.Ports {
			if open[p.TargetPort] != p.Port { // Names of pods lead to them, past the Service.
				t.Errorf("%s has port %d for %s, which the container has at %d", s.Spec.ServiceName, p.Port, p.TargetPort, open[p.TargetPort])
			}
			for i := range s.Spec.Replicas {
				known[fmt.Sprintf("%s-%d.%s.geo.svc:%d", s.Metadata.Name, i, s.Spec.ServiceName, p.Port)] = true
			}
		}
		for i := range s.Spec.Replicas {
			text.WriteString("\n" + strings.ReplaceAll(args, "$(POD_NAME)", fmt.Sprintf("%s-%d", s.Metadata.Name, i)))
		}
	}
	addrs := helmAddr.FindAllString(text.String(), -1)
	for _, a := range addrs {
		if !known[a] {
			t.Errorf("%s is the address of no pod: %v", a, known)
		}
	}
	if len(sets) != 2 || len(addrs) != 3+3*3+3 { // of coordinators twice, and of each member its own
		t.Errorf("%d sets, addresses %q", len(sets), addrs)
	}
}

var (
	helmPath = regexp.MustCompile(`/(etc/catfish|data)/[a-z./]+`)
	helmAddr = regexp.MustCompile(`[a-z0-9.-]+\.svc:[0-9]+`)
)
