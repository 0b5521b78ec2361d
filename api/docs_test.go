package api

import (
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

const docsFile = "../docs/api.md"

// TestDocsExamples sends the requests of the documentation in their order;
// each must succeed, and each call must have an example.
func TestDocsExamples(t *testing.T) {
	text, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	c := startLoopback(t, trees{"default": newTree(t, rstar.Options{})}.alone(),
		WithFeatures(openStore(t, store.Options{})))
	shown := map[string]string{}
	for _, m := range regexp.MustCompile(
		`(?m)^grpcurl -plaintext (?:-max-time 600 )?-d '(.*)' localhost:50051 ([\w.]+)/(\w+)$`,
	).FindAllStringSubmatch(string(text), -1) {
		service := strings.TrimPrefix(m[2], "catfish.v1.")
		shown[service+"/"+m[3]] = callJSON(t, c, m[2], m[3], m[1])
	}
	for call, want := range map[string]string{
		"CatfishService/Insert": "", "CatfishService/Load": `"loaded":"2"`, "CatfishService/Search": `"id":"7"`,
		"CatfishService/SearchMany": `"queries":[0`,
		"CatfishService/Count":      `"count":"3"`, "CatfishService/Nearest": `"id":"7"`,
		"CatfishService/Update": `"found":true`, "CatfishService/Delete": `"found":true`,
		"CatfishService/Stats": `"objects":"2"`, "grpc.health.v1.Health/Check": `"SERVING"`,
		"CollectionService/Create": `"name":"cafes`, "FeatureService/Put": `"id":"einstein"`,
		"FeatureService/Get": `"properties":"{\"name\":\"Einstein\"}"`, "FeatureService/Load": `"received":"3","stored":"2","rejected":"1"`,
		"FeatureService/Search": `"id":"einstein"`, "FeatureService/Count": `"count":"2"`,
		"FeatureService/Nearest": `"id":"sybille"`, "FeatureService/GetMany": `"id":"einstein"`,
		"FeatureService/Watch": `"revision"`,
		"FeatureService/Patch": `"revision"`, "FeatureService/Delete": `"revision"`, "FeatureService/DeleteWhere": `"deleted":"1"`,
		"CollectionService/List": `"name":"cafes"`, "CollectionService/Describe": `"name":"seats"`, "CollectionService/Drop": "{}",
		"CollectionService/Swap": "{}",
	} {
		got, ok := shown[call]
		if !ok || !strings.Contains(got, want) {
			t.Errorf("%s: shown %v, answers %s, want %s", call, ok, got, want)
		}
	}
}

// callJSON sends a sequence of JSON messages to a method, as grpcurl
// does, and returns the answers as JSON without spaces.
func callJSON(t *testing.T, c client, service, method, body string) string {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(
		protoreflect.FullName(service))
	if err != nil {
		t.Fatal(err)
	}
	m := d.(protoreflect.ServiceDescriptor).Methods().ByName(
		protoreflect.Name(method))
	stream, err := c.conn.NewStream(testContext(t), &grpc.StreamDesc{
		ServerStreams: true, ClientStreams: true,
	}, "/"+service+"/"+method)
	if err != nil {
		t.Fatal(err)
	}
	for one := range strings.SplitSeq(
		strings.ReplaceAll(body, "} {", "}\n{"), "\n") {
		in := dynamicpb.NewMessage(m.Input())
		if err := protojson.Unmarshal([]byte(one), in); err != nil {
			t.Fatalf("%s: %s: %v", method, one, err)
		}
		if err := stream.SendMsg(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for {
		out := dynamicpb.NewMessage(m.Output())
		if err := stream.RecvMsg(out); errors.Is(err, io.EOF) {
			return strings.ReplaceAll(all.String(), " ", "")
		} else if err != nil {
			t.Fatalf("%s: %s: %v", method, body, err)
		}
		b, err := protojson.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
		if method == "Watch" { // It has no end.
			return strings.ReplaceAll(all.String(), " ", "")
		}
	}
}

// TestDocsErrors requires every reason in the documentation's table.
func TestDocsErrors(t *testing.T) {
	text, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{
		ReasonBadRect, ReasonBadField, ReasonNoCollection, ReasonSlabFull,
		ReasonResultTooLarge, ReasonLoadTooLarge, ReasonLoadBusy,
		ReasonBusy, ReasonIdle, ReasonClosed, ReasonInternal,
		ReasonBadGeoJSON, ReasonBadGeometry, ReasonBadCoordinate, ReasonBadProperties,
		ReasonFeatureTooLarge, ReasonBadFilter, ReasonFilterCost, ReasonBadCursor,
		ReasonNoFeature, ReasonFeatureExists, ReasonConflict, ReasonExists, ReasonKind,
		ReasonReadOnly, ReasonFixed, ReasonSwapped, ReasonPaused, ReasonMessageTooLarge,
		ReasonNotPrimary, ReasonMoved, ReasonSeveralGroups, ReasonTooFewInSync, ReasonUnknownOutcome,
		ReasonLagged, ReasonNotKept, ReasonAhead, ReasonWatchLimit, ReasonStopping,
		ReasonNoKey, ReasonNotPermitted, ReasonRateLimited,
	} {
		if !strings.Contains(string(text), "| "+reason+" |") {
			t.Errorf("docs/api.md does not list %s", reason)
		}
	}
}
