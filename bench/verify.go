package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// verify makes the queries that all schemes share and sums up the answers.
func verify(ctx context.Context, job ClientJob, conns []Conn) (ClientReady, error) {
	ready := ClientReady{Info: conns[0].Info()}
	if !job.Verify {
		return ready, nil
	}
	scale, err := datasets.ParseScale(job.Scale)
	if err != nil {
		return ready, err
	}
	next, err := datasets.Queries(scale, job.Bounds, job.Seed, verifyStream)
	if err != nil {
		return ready, err
	}
	file, err := fileQueries(job)
	if err != nil {
		return ready, err
	}
	if file != nil {
		step := 1 + len(file)/verifyQueries // all over the file
		at := -step
		next = func() rstar.Rect { at += step; return file[at%len(file)] }
	}
	var items []rstar.Item
	for i := range verifyQueries {
		// All queries of one connection first: if each has a polling server
		// thread, a change of connection waits until the other threads have run.
		items, err = conns[i*len(conns)/verifyQueries].SearchAppend(ctx, items[:0], next())
		if err != nil {
			return ready, fmt.Errorf("bench: verifying: %w", err)
		}
		for _, it := range items {
			ready.Checksum += Digest(uint64(i), it)
		}
		ready.Results += uint64(len(items))
		ready.Queries++
	}
	return ready, nil
}

// Digest hashes one result of query i. Sums of digests do not depend on the
// order of results, and unlike an exclusive or of digests they detect doubles.
func Digest(i uint64, it rstar.Item) uint64 {
	h := mix64(i)
	for _, v := range [...]uint64{
		it.ID,
		math.Float64bits(it.Rect.MinX), math.Float64bits(it.Rect.MinY),
		math.Float64bits(it.Rect.MaxX), math.Float64bits(it.Rect.MaxY),
	} {
		h = mix64(h ^ v)
	}
	return h
}

// mix64 is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA
// 2014, figure 15) on the next value of its sequence.
func mix64(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
