package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// maxConfigBytes bounds a configuration file: the longest has a line for each flag,
// and some thousand names of collections.
const maxConfigBytes = 1 << 20

// readConfig sets flags from a configuration file: YAML, whose keys are the names of
// flags. Typed flags stay unchanged. It reports all mistakes, each with its line.
func readConfig(fs *pflag.FlagSet, path string) (set int, err error) {
	text, err := readConfigFile(path)
	if err != nil {
		return 0, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return 0, BadUsage("%s: %w", path, err)
	}
	if len(doc.Content) == 0 {
		return 0, nil // Nothing but comments.
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return 0, BadUsage("%s:%d: want lines such as listen: 127.0.0.1:7119", path, top.Line)
	}
	typed := map[string]bool{}
	fs.Visit(func(f *pflag.Flag) { typed[f.Name] = true })
	lines := map[string]int{}
	var bad []error
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if err := setFromConfig(fs, key.Value, value, lines, typed); err != nil {
			bad = append(bad, fmt.Errorf("%s:%d: %w", path, key.Line, err))
			continue
		}
		lines[key.Value] = key.Line
	}
	if bad != nil {
		return 0, usageError{errors.Join(bad...)}
	}
	return len(lines), nil
}

func readConfigFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(text) > maxConfigBytes {
		return nil, BadUsage("configuration %s has more than %d bytes", path, maxConfigBytes)
	}
	return text, nil
}

// notInConfig are the flags that a file cannot set.
var notInConfig = []string{"config", "help"}

// setFromConfig sets one flag.
func setFromConfig(fs *pflag.FlagSet, name string, value *yaml.Node, lines map[string]int, typed map[string]bool) error {
	f := fs.Lookup(name)
	switch {
	case f == nil || slices.Contains(notInConfig, name):
		return fmt.Errorf("there is no setting %q: 'catfish config docs' lists all", name)
	case lines[name] > 0:
		return fmt.Errorf("%s is set in line %d already", name, lines[name])
	}
	texts, err := configTexts(name, value)
	if err != nil {
		return err
	}
	list, isList := f.Value.(pflag.SliceValue)
	switch {
	case !isList && value.Kind != yaml.ScalarNode:
		return fmt.Errorf("%s is a list, want one value", name)
	case typed[name]:
		return nil
	case !isList:
		if err := fs.Set(name, texts[0]); err != nil {
			return explainFlag(err)
		}
		return nil
	}
	// Set would take commas in a value for separators.
	if err := list.Replace(texts); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.Changed = true
	return nil
}

// configTexts returns the values of a key, as a user would type them.
func configTexts(name string, value *yaml.Node) ([]string, error) {
	values := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		values = value.Content
	}
	texts := make([]string, 0, len(values))
	for _, v := range values {
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			return nil, fmt.Errorf("%s wants a value, or a list of values", name)
		}
		texts = append(texts, v.Value)
	}
	return texts, nil
}
