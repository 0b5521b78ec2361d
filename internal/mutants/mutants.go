// Package mutants says which rule of its protocol a package breaks, in
// builds with the tag mutants. No other build imports it.
package mutants

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Env names the rule that a whole process breaks, as PACKAGE.RULE.
const Env = "CATFISH_MUTANT"

// Chosen returns the number of the rule among a package's, 0 if Env is empty or
// names another package. It panics if Env names no package, or a rule that the
// package does not have: tests would pass though nothing is broken.
func Chosen(pkg string, rules []string) int {
	env := os.Getenv(Env)
	if env == "" {
		return 0
	}
	of, rule, ok := strings.Cut(env, ".")
	if ok && of != pkg {
		return 0
	}
	i := slices.Index(rules, rule)
	if i < 0 {
		panic(fmt.Sprintf("%s is %q, want %s. and one of %q", Env, env, pkg, rules))
	}
	return i
}
