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

func (f *loadFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.how, "by", cluster.ByBytes, "bytes: groups say how many each slot has; requests: how many reads and writes of ids came for it in the last minutes, by message:\nnot the one-sided reads, which servers do not see, nor searches; count: all slots count alike, ranges of boxes stay but when a group is drained, and no group is asked")
	c.Flags().StringVar(&f.keyFile, "key-file", "", "file with the key that servers want, of an admin of all collections; empty: $"+keyVariable)
	Complete(c, "by", cluster.ByBytes, cluster.ByRequests, cluster.ByCount)
}

func (f *loadFlags) bytes() bool { return f.how == cluster.ByBytes }

// by returns what asks groups how much each slot has, and where boxes are, nil: nothing does.
func (f *loadFlags) by(a *App, cl *coord.Client) (cluster.Loads, cluster.BoxLoads, error) {
	switch f.how {
	case "", cluster.ByCount: // Without a plan, or nothing is asked.
		return nil, nil, nil
	case cluster.ByBytes, cluster.ByRequests:
	default:
		return nil, nil, BadUsage("--by is %q, want %s, %s or %s", f.how, cluster.ByBytes, cluster.ByRequests, cluster.ByCount)
	}
	key, err := clientKey(f.keyFile)
	if err != nil {
		return nil, nil, err
	}
	o := a.loadOptions(key)
	loads, err := cluster.LoadsBy(f.how, cl, o)
	return loads, cluster.AskBoxLoads(cl, o), err
}

// loadOptions are those of a client that asks groups what they have.
func (a *App) loadOptions(key string) client.Options {
	return client.Options{Transport: catfish.TransportTCP, Key: key, Logger: a.logger()}
}
