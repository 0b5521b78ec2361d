//go:build clients

package webclients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The OpenAPI document breaks none of the linter's recommended rules.
func TestRedocly(t *testing.T) {
	var doc json.RawMessage
	get(t, "/api?f=json", &doc)
	name := filepath.Join(t.TempDir(), "api.json")
	if err := os.WriteFile(name, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	// It would report each run to its maker.
	t.Setenv("REDOCLY_TELEMETRY", "off")
	t.Setenv("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
	run(t, "node_modules/.bin/redocly", "lint", "--config", "redocly.yaml", "--format", "stylish", name)
}
