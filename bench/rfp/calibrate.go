package rfp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/sim"
)

// Calibration of the fetch size F and the retries R, by the procedure of RFP's successor (EuroSys 2017,
// section 3.2): for results and processing times that were sampled, R from 1 to N and F from L to H are
// enumerated, and the pair with the highest throughput is taken.
//
//	L  up to this size a read is as fast as the smallest one, so a smaller F gains nothing
//	H  from this size on the link decides, so that fetching has no advantage
//	N  with more reads of an answer than this, fetching is slower than writing it
//
// The paper measures how fast reads of F bytes are. Here the simulated card says it.

// Sample is one sampled call: the bytes of its result, without header, and how long the server worked.
type Sample struct {
	Bytes  int
	WorkNs float64
}

// Choice is one pair of parameters.
type Choice struct {
	FetchBytes int     `json:"fetch_bytes"`
	Retries    int     `json:"fetch_retries"`
	Mops       float64 `json:"mops"`   // that the server's card can have
	Reads      float64 `json:"reads"`  // a call
	Second     float64 `json:"second"` // share of the calls whose result is longer than F
	Asked      float64 `json:"asked"`  // share of the calls that R reads did not get an answer of
}

// Calibration is the choice, and all that was compared.
type Calibration struct {
	Low, High, Most int // L, H, N
	Chosen          Choice
	All             []Choice
	samples         int
	readMops        float64 // of reads of L bytes
	writeMops       float64
}

const (
	fetchStep = 64
	// maxSamples and maxWorkNs are limits against typing errors.
	maxSamples = 1 << 16
	maxWorkNs  = 1e7
	maxResult  = 1<<15 - 1
	// as is how far rates may differ that count as equal.
	asFast = 0.95
	// gains is what a larger F or R must gain to be taken.
	gains = 1.005
)

// Calibrate chooses F and R for a cluster and sampled calls. Errors about samples wrap harness.ErrConfig.
func Calibrate(ctx context.Context, cl *sim.Cluster, seed uint64, samples []Sample) (*Calibration, error) {
	if len(samples) == 0 || len(samples) > maxSamples {
		return nil, fmt.Errorf("%w: %d sampled calls, want 1 to %d", harness.ErrConfig, len(samples), maxSamples)
	}
	for _, s := range samples {
		if s.Bytes < 0 || s.Bytes > maxResult {
			return nil, fmt.Errorf("%w: a result of %d bytes, want 0 to %d", harness.ErrConfig, s.Bytes, maxResult)
		}
		if !(s.WorkNs >= 0 && s.WorkNs <= maxWorkNs) { // a NaN is out of range
			return nil, fmt.Errorf("%w: %v ns of work, want 0 to %g", harness.ErrConfig, s.WorkNs, maxWorkNs)
		}
	}
	l, err := newLab(ctx, cl, seed, func(string) {})
	if err != nil {
		return nil, err
	}
	c := &Calibration{samples: len(samples)}
	c.limits(l)
	p := prices{l: l, in: map[int]float64{}, out: c.writeMops}
	p.trip = 1e3 / l.verbs(sim.Verbs{Op: sim.MicroRead, Bytes: 32, Threads: 1})
	for f := c.Low; f <= c.High && l.err == nil; f += fetchStep {
		for r := 1; r <= c.Most; r++ {
			x := p.rate(f, r, samples)
			c.All = append(c.All, x)
			if x.Mops > gains*c.Chosen.Mops {
				c.Chosen = x
			}
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	return c, nil
}

// limits finds L, H and N.
func (c *Calibration) limits(l *lab) {
	smallest := l.inbound(fetchStep / 2)
	c.Low = fetchStep
	for c.Low+fetchStep <= 4096 && l.inbound(c.Low+fetchStep) >= asFast*smallest && l.err == nil {
		c.Low += fetchStep
	}
	c.High = max(c.Low, int(l.crossover()))
	c.readMops = l.inbound(c.Low)
	for _, threads := range []int{4, 5, 6} {
		c.writeMops = max(c.writeMops, l.outbound(threads, 0, 32))
	}
	// A request and N reads take the card as long as one write.
	c.Most = max(1, int(math.Round(c.readMops/c.writeMops))-1)
}

// prices are the times of operations at the server's card.
type prices struct {
	l    *lab
	in   map[int]float64 // us of serving one, by its bytes
	out  float64         // Mops
	trip float64         // ns from one fetch of a client to its next
}

func (p *prices) served(bytes int) float64 {
	bytes = max((bytes+fetchStep-1)/fetchStep, 1) * fetchStep
	us, ok := p.in[bytes]
	if !ok {
		us = 1 / p.l.inbound(bytes)
		p.in[bytes] = us
	}
	return us
}

// rate is what the card can have with F and R: it serves and starts operations at the same time.
func (p *prices) rate(f, r int, samples []Sample) Choice {
	x := Choice{FetchBytes: f, Retries: r}
	in, out, n := 0.0, 0.0, float64(len(samples))
	for _, s := range samples {
		// A fetch arrives a trip after the request did, each further one a trip later.
		reads := max(1, math.Ceil(s.WorkNs/p.trip))
		size := headerOf + s.Bytes
		in += p.served(fetchStep) // the request
		if reads > float64(r) {
			x.Asked++
			x.Reads += float64(r)
			in += float64(r)*p.served(f) + p.served(fetchStep) // the request for a written answer
			out += max(1/p.out, p.served(size))
			continue
		}
		in += reads * p.served(f)
		x.Reads += reads
		if size > f {
			in += p.served(size - f)
			x.Second++
			x.Reads++
		}
	}
	x.Mops, x.Reads, x.Second, x.Asked = n/max(in, out), x.Reads/n, x.Second/n, x.Asked/n
	return x
}

// headerOf stands before a result.
const headerOf = 2

// best returns the best choice with a given F, or with a given R (the other is 0).
func (c *Calibration) best(f, r int) (b Choice) {
	for _, x := range c.All {
		if (f == 0 || x.FetchBytes == f) && (r == 0 || x.Retries == r) && x.Mops > gains*b.Mops {
			b = x
		}
	}
	return b
}

// Write says which pair was chosen, and why.
func (c *Calibration) Write(w io.Writer) error {
	x := c.Chosen
	text := fmt.Sprintf("Simulated: --fetch-bytes %d --fetch-retries %d, %.2f Mops\n\n"+
		"L = %d bytes: up to this size reads have %.2f Mops, as the smallest ones.\nH = %d bytes: from this size on reads are no faster than writes.\n"+
		"N = %d: a request and N reads take the card as long as one write (%.2f Mops).\n%d sampled calls, %d pairs.\n\n",
		x.FetchBytes, x.Retries, x.Mops, c.Low, c.readMops, c.High, c.Most, c.writeMops, c.samples, len(c.All))
	text += fmt.Sprintf("F: %s.\nR: %s.\n\n| F | best R | Mops | reads a call | longer than F, %% | written, %% |\n|---|---|---|---|---|---|\n", c.whySize(), c.whyRetries())
	for f := c.Low; f <= c.High; f += fetchStep {
		b := c.best(f, 0)
		text += fmt.Sprintf("| %d | %d | %s | %s | %s | %s |\n", f, b.Retries, number(b.Mops), number(b.Reads), number(100*b.Second), number(100*b.Asked))
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("rfp: writing the calibration: %w", err)
	}
	return nil
}

func (c *Calibration) whySize() string {
	x := c.Chosen
	next := c.best(x.FetchBytes+fetchStep, 0)
	switch {
	case x.FetchBytes == c.Low && x.Second == 0:
		return fmt.Sprintf("all results fit the smallest F, %d bytes", c.Low)
	case x.Second == 0:
		return "all results fit, and a larger F only takes the link"
	case next.Mops == 0:
		return fmt.Sprintf("H; %.1f %% of the results are longer", 100*x.Second)
	}
	return fmt.Sprintf("%.1f %% of the results are longer and take a second read; with %d bytes more there are %.2f Mops", 100*x.Second, fetchStep, next.Mops)
}

func (c *Calibration) whyRetries() string {
	x := c.Chosen
	less := c.best(x.FetchBytes, max(x.Retries-1, 1))
	switch {
	case x.Retries == 1 && x.Asked == 0:
		return "the first read finds every answer"
	case x.Retries == 1:
		return fmt.Sprintf("further reads cost more than they find; %.1f %% of the answers are written", 100*x.Asked)
	}
	return fmt.Sprintf("with %d, %.1f %% of the answers are written and there are %.2f Mops; with %d, %.1f %%", less.Retries, 100*less.Asked, less.Mops, x.Retries, 100*x.Asked)
}

// WriteJSON writes a row for each pair.
func (c *Calibration) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	for _, x := range c.All {
		row := struct {
			Choice
			Low         int  `json:"low_bytes"`
			High        int  `json:"high_bytes"`
			Most        int  `json:"most_retries"`
			Chosen      bool `json:"chosen"`
			IsSimulated bool `json:"simulated"`
		}{x, c.Low, c.High, c.Most, x == c.Chosen, true}
		if err := e.Encode(row); err != nil {
			return fmt.Errorf("rfp: writing a row: %w", err)
		}
	}
	return nil
}
