package client

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/policy"
)

// Types of a policy and of its input: package policy has the documentation.
type (
	Policy      = policy.Policy
	Learner     = policy.Learner
	Named       = policy.Named
	Description = policy.Description
	Plan        = policy.Plan
	Ask         = policy.Ask
	PolicyState = policy.State
	Path        = policy.Path
	Load        = policy.Load
	Outcome     = policy.Outcome
	Estimate    = policy.Estimate
	Scheme      = policy.Scheme
	Backoff     = policy.Backoff
	Predictor   = policy.Predictor
)

// How Algorithm 1 predicts the server's utilisation.
const (
	PredictLatest = policy.Latest
	PredictMean   = policy.Mean
	PredictLinear = policy.Linear
)

// The two paths.
const (
	FastMessaging = policy.FastMessaging
	Offload       = policy.Offload
)

// DefaultPolicy is the scheme that "default" stands for.
const DefaultPolicy = policy.Default

// Schemes lists the names that Options.Policy takes, "default" first.
func Schemes() []string { return policy.Schemes() }

// DescribeScheme is one line about a scheme, "" for an unknown name.
func DescribeScheme(name string) string { return policy.DescribeScheme(name) }

// SchemeByName looks a scheme up, "" or "default" for the default. The
// error wraps ErrOption.
func SchemeByName(name string) (Scheme, error) {
	s, err := policy.SchemeByName(name)
	if err != nil {
		err = fmt.Errorf("%w: %w", model.ErrOption, err)
	}
	return s, err
}
