//go:build linux

package main

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

func TestReply(t *testing.T) {
	for _, c := range []struct {
		answer  string
		strings int
		fails   bool
	}{
		{"+OK\r\n", 0, false},
		{":1\r\n", 0, false},
		{"$-1\r\n", 0, false},
		{"*0\r\n", 0, false},
		{"$12\r\nabcdefghij\r\n\r\n", 1, false},
		{"*2\r\n$1\r\n7\r\n$2\r\n42\r\n", 2, false}, // Redis
		{"*2\r\n:0\r\n*3\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n", 3, false}, // Tile38: a cursor, then ids
		{"-ERR what\r\n", 0, true},
		{"*2\r\n$1\r\n7\r\n", 0, true},
		{"HTTP/1.1\r\n", 0, true},
	} {
		conn := &resp{r: bufio.NewReader(strings.NewReader(c.answer))}
		n, err := conn.reply()
		if (err != nil) != c.fails || err == nil && n != c.strings {
			t.Errorf("%q: %d strings, error %v; want %d, failing %v", c.answer, n, err, c.strings, c.fails)
		}
		if rest, _ := io.ReadAll(conn.r); err == nil && len(rest) > 0 {
			t.Errorf("%q: %q is left", c.answer, rest)
		}
	}
}
