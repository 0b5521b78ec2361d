package cql2

import (
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// source is what makes a program again, in another process whose collection may have other
// properties: the text, and what its names mean.
type source struct {
	Text  string
	JSON  bool
	Split bool
	Known map[string]paths // by name
}

func (s *source) String() string {
	b, _ := json.Marshal(s) // It has texts alone.
	return string(b)
}

// Compile makes the program of a source (filter.Program.Sources) that is equal to the one that
// has it.
func Compile(from string) (*filter.Program, error) {
	var s source
	if err := json.Unmarshal([]byte(from), &s); err != nil {
		return nil, fmt.Errorf("cql2: source: %w", err)
	}
	parse := Parse
	if s.JSON {
		parse = ParseJSON
	}
	f, err := parse(s.Text, Properties{Split: s.Split, known: s.Known})
	if err != nil {
		return nil, err
	}
	return f.Where, nil
}
