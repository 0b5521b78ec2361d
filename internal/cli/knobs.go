package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// Parameters that the paper calls configurable, and how it builds its tree

// BackoffFlags are the parameters of Algorithm 1; CheckBackoff checks them.
func BackoffFlags(c *cobra.Command, b *policy.Backoff) {
	*b = policy.Backoff{}.WithDefaults()
	fs := c.Flags()
	fs.IntVar(&b.N, "backoff-n", b.N,
		"N of Algorithm 1 (paper, paper-literal): by how many searches a busy server widens the window of offloading")
	fs.Float64Var(&b.T, "threshold", b.T, "T of Algorithm 1: the utilisation, up to 1, above which the server is busy")
	fs.StringVar((*string)(&b.Predictor), "predictor", string(b.Predictor),
		"how Algorithm 1 makes a utilisation of heartbeats: "+strings.Join(policy.Predictors(), ", "))
	Complete(c, "predictor", policy.Predictors()...)
}

// CheckBackoff refuses values out of range, and flags that none of the schemes
// uses. Without schemes, all flags are used.
func CheckBackoff(fs *pflag.FlagSet, b policy.Backoff, schemes ...string) error {
	if err := WantMore(fs, "backoff-n", "threshold", "predictor"); err != nil {
		return err
	}
	if err := b.Validate(); err != nil {
		return BadUsage("--backoff-n, --threshold, --predictor: %w", err)
	}
	var names []string
	for _, name := range schemes {
		s, err := policy.SchemeByName(name)
		if err != nil || s.Backoff {
			return nil // The check of schemes refuses unknown names.
		}
		names = append(names, s.Name)
	}
	for _, flag := range []string{"backoff-n", "threshold", "predictor"} {
		if len(names) > 0 && fs.Changed(flag) {
			return BadUsage("--%s is of paper and paper-literal, not of %s", flag, strings.Join(names, ", "))
		}
	}
	return nil
}

// StrategyFlag is a flag of commands that start a server.
func StrategyFlag(c *cobra.Command, s *rstar.Strategy) {
	c.Flags().Var((*strategyValue)(s), "strategy",
		"how the tree inserts and splits: revised (R*-tree of 2009), original (of 1990, the paper's), or original-doubles"+
			" (the same, with no more children in an inner node than objects in a leaf, as where boxes are doubles)")
	Complete(c, "strategy", rstar.Strategies()...)
}

// strategyValue is a pflag.Value.
type strategyValue rstar.Strategy

func (v *strategyValue) String() string { return rstar.Strategy(*v).String() }
func (v *strategyValue) Type() string   { return "strategy" }
func (v *strategyValue) Set(name string) error {
	return (*rstar.Strategy)(v).UnmarshalText([]byte(name))
}

// WantMore refuses typed flags whose value is zero: what gets them would replace zeros
// by its defaults, but the user typed them on purpose.
func WantMore(fs *pflag.FlagSet, flags ...string) error {
	for _, name := range flags {
		f := fs.Lookup(name)
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		zero := func(v string) bool { return v == "" || v == "0" || v == "0s" }
		if f.Changed && (len(values) == 0 || slices.ContainsFunc(values, zero)) {
			return BadUsage("--%s is empty or 0, want more", name)
		}
	}
	return nil
}
