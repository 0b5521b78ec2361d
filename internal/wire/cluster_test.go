package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
)

func TestCluster(t *testing.T) {
	c := &Cluster{Epoch: 2, Version: 7, Map: []byte(`{"slots":"AAE="}`), Groups: []ClusterGroup{{"a", []string{"h:1", "h:2"}}, {"b", nil}}}
	if h := c.Hello(); *h != (ClusterHello{2, 7, 2}) || (*Cluster)(nil).Hello() != nil {
		t.Error(h)
	}
	for has, want := range map[uint64]string{6: `{"slots":"AAE="}`, 7: "", 8: `{"slots":"AAE="}`} {
		b, err := AppendCluster(nil, c, has)
		if err != nil {
			t.Fatal(err)
		}
		got, err := GetCluster(b)
		if err != nil || string(got.Map) != want || fmt.Sprint(got.Groups) != fmt.Sprint(c.Groups) || got.Epoch != 2 || got.Version != 7 {
			t.Errorf("to one that has %d: %+v, %v", has, got, err)
		}
	}
	long := strings.Repeat(`{"name":"a"},`, maxClusterGroups) + `{"name":"a"}`
	for _, text := range []string{
		"", "{}", `{"epoch":"3","version":"2","groups":[{"name":"a"}]}`, `{"epoch":"0","version":"2","groups":[{"name":"a"}]}`,
		`{"epoch":"1","version":"1","groups":[]}`, `{"epoch":"1","version":"1","groups":[{"name":""}]}`,
		`{"epoch":"1","version":"1","groups":[` + long + `]}`,
		`{"epoch":"1","version":"1","groups":[{"name":"a","members":[` + strings.Repeat(`"h:1",`, maxClusterMembers) + `"h:1"]}]}`,
		`{"epoch":"1","version":"1","groups":[{"name":"a"}],"map":"` + strings.Repeat("x", maxClusterBytes) + `"}`,
	} {
		if _, err := GetCluster([]byte(text)); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
	for _, r := range []MapRequest{{}, {3, 9}} {
		if got, err := GetMapRequest(r.Append(nil)); got != r || err != nil {
			t.Errorf("%+v, %v, want %+v", got, err, r)
		}
	}
	for _, b := range [][]byte{nil, make([]byte, MapRequestBytes-1), make([]byte, MapRequestBytes+1), MapRequest{3, 2}.Append(nil)} {
		if _, err := GetMapRequest(b); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("%x: %v", b, err)
		}
	}
}
