package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/catfish-index/catfish/internal/affinity"
)

func newConfig(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check a server's configuration file, and list what may be in one",
		Long: `Check a configuration file of 'catfish serve --config FILE', and list what may be
in one. It is YAML, and its keys are the names of the flags of serve:

  listen: 0.0.0.0:7119
  features: [cafes, stops]
  data-dir: /var/lib/catfish
  keys: /etc/catfish/keys

Flags that are typed count more than the file.`,
		Example: `  catfish config docs > catfish.yaml
  catfish config check catfish.yaml
  catfish serve --config catfish.yaml`,
	}
	Group(c)
	c.AddCommand(newConfigDocs(a), newConfigCheck(a))
	return c
}

func newConfigDocs(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "docs",
		Short: "Print a configuration file with every setting, its meaning and its default",
		Long: `Print a configuration file with every setting, its meaning and its default. Each
is a comment: take the # away from what is to differ.`,
		Example: `  catfish config docs > catfish.yaml`,
		Args:    Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			serve, _ := serveCommand(a)
			text := strings.Builder{}
			text.WriteString("# Configuration of 'catfish serve --config FILE', version " + release() + ".\n")
			serve.Flags().VisitAll(func(f *pflag.Flag) {
				if !slices.Contains(notInConfig, f.Name) {
					fmt.Fprintf(&text, "\n# %s\n#%s", strings.ReplaceAll(f.Usage, "\n", "\n# "), setting(f))
				}
			})
			return a.Printf("%s", text.String())
		},
	}
}

// setting returns the line of a flag's default.
func setting(f *pflag.Flag) string {
	value := yaml.Node{Kind: yaml.ScalarNode, Value: f.DefValue}
	if _, ok := f.Value.(pflag.SliceValue); ok {
		value = yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		if in := strings.Trim(f.DefValue, "[]"); in != "" {
			for _, v := range strings.Split(in, ",") {
				value.Content = append(value.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: v})
			}
		}
	} else if f.Value.Type() == "string" {
		value.Tag = "!!str" // so that 0600 and the empty string get quotes
	}
	line, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: f.Name}, &value}})
	if err != nil {
		return f.Name + ":\n" // Impossible: the node is complete.
	}
	return string(line)
}

func newConfigCheck(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say what serve would refuse in a configuration file",
		Long: `Say what 'catfish serve --config FILE' would refuse before it opens anything:
settings that there are not, values that they do not take, those that do nothing
together, and files of keys and certificates that cannot be read. Data is not looked
at ('catfish check --data-dir').`,
		Example: `  catfish config check catfish.yaml`,
		Args:    Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, files []string) error {
			serve, f := serveCommand(a)
			n, err := readConfig(serve.Flags(), files[0])
			if err != nil {
				return err
			}
			opts, err := f.options(a)
			if err != nil {
				return BadUsage("%s: %w", files[0], err)
			}
			if _, err := affinity.Parse(f.cpus); err != nil {
				return BadUsage("%s: cpus: %w", files[0], err)
			}
			if err := f.checkGuards(&opts); err != nil {
				return fmt.Errorf("%s: %w", files[0], err)
			}
			return a.Printf("%s: %d settings, as serve wants them\n", files[0], n)
		},
	}
}
