package catfish

import (
	"github.com/catfish-index/catfish/catfish/client"
)

type (
	// Types of a policy and of its input: package policy has the documentation.
	Policy = client.Policy
	// Types of a policy and of its input: package policy has the documentation.
	Learner = client.Learner
	// Types of a policy and of its input: package policy has the documentation.
	Named = client.Named
	// Types of a policy and of its input: package policy has the documentation.
	Description = client.Description
	// Types of a policy and of its input: package policy has the documentation.
	Plan = client.Plan
	// Types of a policy and of its input: package policy has the documentation.
	Ask = client.Ask
	// Types of a policy and of its input: package policy has the documentation.
	PolicyState = client.PolicyState
	// Types of a policy and of its input: package policy has the documentation.
	Path = client.Path
	// Types of a policy and of its input: package policy has the documentation.
	Load = client.Load
	// Types of a policy and of its input: package policy has the documentation.
	Outcome = client.Outcome
	// Types of a policy and of its input: package policy has the documentation.
	Estimate = client.Estimate
	// Types of a policy and of its input: package policy has the documentation.
	Scheme = client.Scheme
	// Types of a policy and of its input: package policy has the documentation.
	Backoff = client.Backoff
	// Types of a policy and of its input: package policy has the documentation.
	Predictor = client.Predictor
)

const (
	PredictLatest = client.PredictLatest
	PredictMean   = client.PredictMean
	PredictLinear = client.PredictLinear
	FastMessaging = client.FastMessaging
	Offload       = client.Offload
	// DefaultPolicy is the scheme that "default" stands for.
	DefaultPolicy = client.DefaultPolicy
)

// Schemes lists the names that Options.Policy takes, "default" first.
func Schemes() []string { return client.Schemes() }

// DescribeScheme is one line about a scheme, "" for an unknown name.
func DescribeScheme(name string) string { return client.DescribeScheme(name) }

// SchemeByName looks a scheme up, "" or "default" for the default.
func SchemeByName(name string) (Scheme, error) { return client.SchemeByName(name) }
