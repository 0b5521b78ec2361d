package catfish_test

import (
	"os"
	"strings"
	"testing"
)

// The policy that docs/policy.md shows is that of the example, which is compiled.
func TestPolicyOfDocsCompiles(t *testing.T) {
	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_policy_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(page), "```go\n")
	code, _, closed := strings.Cut(code, "```\n")
	if !found || !closed || !strings.Contains(string(example), code) {
		t.Errorf("the example has not\n%s", code)
	}
}
