package cli

import "testing"

func TestEndpoint(t *testing.T) {
	for typed, want := range map[string]string{
		"10.0.0.5:9":     "10.0.0.5:9",
		"10.0.0.5":       "10.0.0.5:7119",
		"db.example":     "db.example:7119",
		"db1":            "db1:7119",
		"db.example:80":  "db.example:80",
		":80":            ":80",
		"::1":            "[::1]:7119",
		"[::1]":          "[::1]:7119",
		"[::1]:80":       "[::1]:80",
		"fe80::1%eth0":   "[fe80::1%eth0]:7119",
		"[fe80::1%eth0]": "[fe80::1%eth0]:7119",
		"::":             "[::]:7119",
		"0.0.0.0":        "0.0.0.0:7119",
		// Not an address, or one whose port is ambiguous.
		"": "", "7119": "", "host:": "", "host:port": "", "host:70000": "", "host:0": "",
		"[10.0.0.5]": "", "[::1": "", "::1]": "", "[]": "", "a:b:c": "", "host:-1": "",
	} {
		got, err := Endpoint("server", typed, 1)
		if got != want || (err == nil) != (want != "") || err != nil && !(Program{}).isUsage(err) {
			t.Errorf("%q: %q, %v, want %q", typed, got, err, want)
		}
	}
	for typed, want := range map[string]string{"a": "a:7119", "a,b:1,[::1]": "a:7119,b:1,[::1]:7119", "a,": "", "a b,c:0": ""} {
		if got, err := endpoints("server", typed); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", typed, got, err, want)
		}
	}
	if got, err := Endpoint("listen", "host:0", 0); got != "host:0" || err != nil {
		t.Errorf("port 0 to listen on: %q, %v", got, err)
	}
}
