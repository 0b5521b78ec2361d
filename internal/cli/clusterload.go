package cli

import (
	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
)

// loadFlags say by what slots are weighed.
type loadFlags struct{ how, keyFile string }

// What slots are weighed by.
const (
	byBytes = "bytes"
	byCount = "count"
)

func (f *loadFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.how, "by", byBytes, "bytes: groups say how many each slot has; count: all slots count alike, ranges of boxes stay but when a group is drained, and no group is asked")
	c.Flags().StringVar(&f.keyFile, "key-file", "", "file with the key that servers want, of an admin of all collections; empty: $"+keyVariable)
	Complete(c, "by", byBytes, byCount)
}

func (f *loadFlags) count() bool { return f.how == byCount }

// by returns what asks groups how much each slot has, and where boxes are, nil: nothing does.
func (f *loadFlags) by(a *App, cl *coord.Client) (cluster.Loads, cluster.BoxLoads, error) {
	switch f.how {
	case "", byCount:
		return nil, nil, nil
	case byBytes:
	default:
		return nil, nil, BadUsage("--by is %q, want %s or %s", f.how, byBytes, byCount)
	}
	key, err := clientKey(f.keyFile)
	if err != nil {
		return nil, nil, err
	}
	o := a.loadOptions(key)
	return cluster.AskLoads(cl, o), cluster.AskBoxLoads(cl, o), nil
}

// loadOptions are those of a client that asks groups what they have.
func (a *App) loadOptions(key string) client.Options {
	return client.Options{Transport: catfish.TransportTCP, Key: key, Logger: a.logger()}
}
