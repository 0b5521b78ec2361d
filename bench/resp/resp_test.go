package resp

import (
	"net"
	"strings"
	"testing"
)

// A server's answers in RESP are counted, and broken ones are an error.
func TestRESP(t *testing.T) {
	const search = "*2\r\n:0\r\n*2\r\n*2\r\n$1\r\na\r\n$2\r\n{}\r\n*3\r\n$1\r\nb\r\n$2\r\n{}\r\n*2\r\n$5\r\ntenth\r\n$1\r\n3\r\n"
	for text, want := range map[string]Reply{
		search:                          {Objects: 2, Strings: 6},
		"*2\r\n:0\r\n*0\r\n":            {},
		"+OK\r\n":                       {},
		"$-1\r\n":                       {},
		"*2\r\n$1\r\na\r\n$2\r\nbc\r\n": {Strings: 2},
	} {
		got, err := answered(t, text)
		if err != nil || got.Objects != want.Objects || got.Strings != want.Strings {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"-ERR no such key\r\n", "?\r\n", "\r\n", "*x\r\n", "*2\r\n:0\r\n", "$99999999999\r\n", search[:30],
		strings.Repeat("*1\r\n", 100) + ":1\r\n", "!1\r\n",
	} {
		if r, err := answered(t, text); err == nil {
			t.Errorf("%q: %+v, want an error", text, r)
		}
	}
}

// answered is Do's result for a server's text.
func answered(t *testing.T, text string) (got Reply, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 100)) // the request
		_, _ = c.Write([]byte(text))
	}()
	c, err := Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	err = c.Do([][]string{{"PING"}}, func(_ int, r *Reply) { got = *r })
	c.Close()
	<-served
	return got, err
}
