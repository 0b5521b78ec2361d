package mongo

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/replica/rings"
)

// TestSizes: the two forms agree, to a page, wherever something is free and the size is not
// below the least; where nothing is free they are at opposite ends.
func TestSizes(t *testing.T) {
	agree, apart := 0, 0
	for _, s := range Sizes() {
		switch {
		case s.Memory == 1 || s.Link == 1:
			apart++
			if s.Printed != formulaBytes || s.Bytes != rings.MinAutoBytes {
				t.Errorf("%+v: want %d and %d bytes", s, formulaBytes, rings.MinAutoBytes)
			}
		case s.Printed < rings.MinAutoBytes:
			if s.Bytes != rings.MinAutoBytes {
				t.Errorf("%+v: want %d bytes", s, rings.MinAutoBytes)
			}
		default:
			agree++
			if d := s.Printed - s.Bytes; d < 0 || d >= os.Getpagesize() {
				t.Errorf("%+v: %d bytes apart", s, d)
			}
		}
	}
	if agree < 8 || apart < 3 {
		t.Errorf("%d agree, %d do not: the test shows little", agree, apart)
	}
}

// TestPageIsFresh: docs/papers/rdma-mongo.md has the table.
func TestPageIsFresh(t *testing.T) {
	var made bytes.Buffer
	if err := WriteSizes(&made, Sizes()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/papers/rdma-mongo.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- formula -->\n")
	if kept, _, ok := strings.Cut(rest, "<!-- formula: end -->"); !ok || kept != made.String() {
		t.Errorf("the page has not what the program makes (make mongo-docs):\n%s\nwant\n%s", kept, made.String())
	}
}
