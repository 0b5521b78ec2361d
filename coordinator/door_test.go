package coordinator

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
)

// overHTTP writes, reads and deletes a place at a member.
func overHTTP(t *testing.T, m *member, id string) {
	t.Helper()
	call := func(method, body string, want int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+m.at.HTTP+"/collections/places/items/"+id, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/geo+json")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		if a.StatusCode != want || err != nil || method == "GET" && !strings.Contains(string(b), id) {
			t.Errorf("%s of %s at %s: %s %s %v, want %d", method, id, m.at.HTTP, a.Status, b, err, want)
		}
	}
	place := `{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]},"properties":{}}`
	call("PUT", place, 201)
	call("GET", "", 200)
	call("PUT", place, 204)
	call("DELETE", "", 204)
	call("GET", "", 404)
}

// overGRPC does the same.
func overGRPC(t *testing.T, m *member, id string) {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///"+m.at.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	c := catfishv1.NewFeatureServiceClient(cc)
	_, err = c.Put(t.Context(), &catfishv1.FeatureServicePutRequest{Collection: "places", IfAbsent: true, Feature: &catfishv1.Feature{
		Id: id, Geometry: &catfishv1.Feature_Geojson{Geojson: `{"type":"Point","coordinates":[0,0]}`}}})
	if err != nil {
		t.Errorf("put of %s at %s: %v", id, m.at.GRPC, err)
	}
	got, err := c.Get(t.Context(), &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: id})
	if err != nil || got.GetFeature().GetId() != id {
		t.Errorf("get of %s at %s: %v, %v", id, m.at.GRPC, got, err)
	}
	if _, err := c.Delete(t.Context(), &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: id, IfRevision: got.GetFeature().GetRevision()}); err != nil {
		t.Errorf("delete of %s at %s: %v", id, m.at.GRPC, err)
	}
}

// HTTP and gRPC write and read at each member, before and after the primary was killed, and
// each sees at once what was written at another one.
func TestEachMemberIsADoor(t *testing.T) {
	t.Parallel()
	registry, members, addrs := startGroup(t, startChild)
	c, err := catfish.Dial(t.Context(), addrs, catfish.Options{Shared: new(catfish.Shared), Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	places, err := c.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for name, m := range members {
			overHTTP(t, m, fmt.Sprintf("http-%d-%s", round, name))
			overGRPC(t, m, fmt.Sprintf("grpc-%d-%s", round, name))
			if _, _, err := places.Put(t.Context(), placeAt("stays-"+fmt.Sprint(round)+name), model.Condition{}); err != nil {
				t.Error(err)
			}
			for _, other := range members {
				a, err := http.Get("http://" + other.at.HTTP + "/collections/places/items/stays-" + fmt.Sprint(round) + name)
				if err != nil {
					t.Fatal(err)
				}
				a.Body.Close()
				if a.StatusCode != http.StatusOK {
					t.Errorf("%s does not see at once what was written: %s", other.at.HTTP, a.Status)
				}
			}
		}
		if round == 0 {
			primary := groupOf(t, registry).Primary
			if err := members[primary].child.Signal(os.Kill); err != nil {
				t.Fatal(err)
			}
			// Until then a write may be sent to it, and not be answered.
			catfishtest.Eventually(t, "another member is the primary", func() bool { return groupOf(t, registry).Primary != primary })
			delete(members, primary)
		}
	}
}
