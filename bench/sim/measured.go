package sim

import (
	"errors"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// ReadRows reads rows of bench run --json. Errors wrap ErrFit.
func ReadRows(r io.Reader) ([]bench.Row, error) {
	rows, err := harness.ReadRows[bench.Row](r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFit, err)
	}
	for i := range rows {
		row, err := &rows[i], error(nil)
		switch {
		case row.Simulated:
			err = errors.New("is simulated, want measured ones")
		case row.Scheme == "" || row.Clients < 1 || row.InFlight < 1 || row.Objects < 1:
			err = errors.New("has no scheme, clients, in_flight or objects: is it of bench run --json?")
		case !(row.OpsPerS > 0):
			err = fmt.Errorf("has ops_per_s %v, want more than 0", row.OpsPerS)
		case row.WorkerPerConnection:
			err = errors.New("is of a server with a worker for each connection, want one for each core, as the cluster has")
		default:
			if bad := row.Backoff.Validate(); bad != nil {
				err = fmt.Errorf("has a bad backoff: %w", bad)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: row %d %w", ErrFit, i+1, err)
		}
		if row.Inserts == "" { // It was measured before other kinds existed.
			row.Inserts = bench.DataInserts
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: no rows", ErrFit)
	}
	return medians(rows), nil
}

// medians joins rows of the same set-up into one: they come from rounds
// through many set-ups, as a machine needs that changes its speed.
func medians(rows []bench.Row) []bench.Row {
	type setUp struct {
		scheme, transport, dataset, scale, mix string
		inserts                                bench.Inserts
		objects, clients, inFlight, batch      int
		strategy                               rstar.Strategy
		inserted                               bool
		backoff                                policy.Backoff
	}
	of := map[setUp][]bench.Row{}
	var order []setUp
	for _, r := range rows {
		k := setUp{r.Scheme, r.Transport, r.Dataset, r.Scale, r.Mix, r.Inserts, r.Objects, r.Clients, r.InFlight, r.Batch,
			r.Strategy, r.Inserted, bench.BackoffOf(r.Scheme, r.Backoff)}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], r)
	}
	merged := make([]bench.Row, len(order))
	for i, k := range order {
		same := of[k]
		merged[i] = same[0]
		merged[i].OpsPerS = median(same, func(r *bench.Row) float64 { return r.OpsPerS })
		merged[i].CPUUtil = median(same, func(r *bench.Row) float64 { return r.CPUUtil })
	}
	return merged
}

func median(rows []bench.Row, of func(*bench.Row) float64) float64 {
	v := make([]float64, len(rows))
	for i := range rows {
		v[i] = of(&rows[i])
	}
	return stats.Median(v)
}
