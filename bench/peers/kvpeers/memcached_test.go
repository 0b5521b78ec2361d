//go:build linux

package kvpeers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/internal/ycsb"
)

var aKey = new(ycsb.Config).Key(1)

func answers(text string) *memcachedConn {
	return &memcachedConn{r: bufio.NewReaderSize(strings.NewReader(text), 64)}
}

func TestReply(t *testing.T) {
	for _, c := range []struct {
		answer string
		set    bool
		value  string
		found  bool
		fails  bool
	}{
		{answer: "HD\r\n", set: true},
		{answer: "EN\r\n"},
		{answer: "VA 0\r\n\r\n", found: true},
		{answer: "VA 5\r\na\r\nbc\r\n", found: true, value: "a\r\nbc"},
		{answer: "HD\r\n", fails: true}, // a Get's has no value
		{answer: "VA 1\r\na\r\n", set: true, fails: true},
		{answer: "EN\r\n", set: true, fails: true},
		{answer: "NS\r\n", set: true, fails: true}, // not stored
		{answer: "SERVER_ERROR out of memory storing object\r\n", set: true, fails: true},
		{answer: "ERROR\r\n", fails: true},
		{answer: "", fails: true},
		{answer: "VA", fails: true},
		{answer: "VA \r\n\r\n", fails: true},
		{answer: "VA -1\r\n\r\n", fails: true},
		{answer: "VA 3 f\r\nabc\r\n", fails: true}, // flags were not requested
		{answer: "VA 99999999999999999999\r\n\r\n", fails: true},
		{answer: "VA 67108865\r\n\r\n", fails: true},
		{answer: "VA 67108864\r\nabc", fails: true}, // announced, but missing
		{answer: "VA 3\r\nabcd\r\n", fails: true},
		{answer: "VA 3\r\nabc", fails: true},
		{answer: strings.Repeat("x", 100) + "\r\n", fails: true}, // longer than the buffer
	} {
		conn, r := answers(c.answer), kv.Request{Key: aKey, Put: c.set, Value: []byte("before")}
		err := conn.reply(&r)
		if c.fails {
			if !errors.Is(err, ErrAnswer) {
				t.Errorf("%q: %v, want ErrAnswer", c.answer, err)
			}
			if cap(r.Value) > 1024 {
				t.Errorf("%q: room for %d bytes was made", c.answer, cap(r.Value))
			}
			continue
		}
		if err != nil || r.Found != c.found || !c.set && string(r.Value) != c.value {
			t.Errorf("%q: found %v %q, %v", c.answer, r.Found, r.Value, err)
		}
		if rest, _ := io.ReadAll(conn.r); len(rest) > 0 {
			t.Errorf("%q: %q is left", c.answer, rest)
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add("HD\r\n", true)
	f.Add("VA 5\r\nabcde\r\n", false)
	f.Add("EN\r\n", false)
	f.Fuzz(func(t *testing.T, answer string, set bool) {
		r := kv.Request{Key: aKey, Put: set}
		err := answers(answer).reply(&r)
		if err != nil && !errors.Is(err, ErrAnswer) || len(r.Value) > len(answer) {
			t.Errorf("%q: %d bytes, %v", answer, len(r.Value), err)
		}
	})
}

func TestCommands(t *testing.T) {
	c := new(memcachedConn)
	c.add(&kv.Request{Key: aKey, Value: []byte("old")})
	c.add(&kv.Request{Key: aKey, Value: []byte("new"), Put: true})
	if want := fmt.Sprintf("mg %s v\r\nms %s 3\r\nnew\r\n", aKey, aKey); string(c.out) != want {
		t.Errorf("%q, want %q", c.out, want)
	}
}
