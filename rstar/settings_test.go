package rstar

import (
	"fmt"
	"testing"
)

// setting is a combination of settings that must not change any answer.
type setting struct {
	o   Options
	isa isaLevel
}

func (s setting) String() string {
	return fmt.Sprintf("%v/node=%d/%v/portable=%v",
		s.o.Strategy, s.o.NodeBytes, s.isa, s.o.PortableStores)
}

// use makes all scans use s's instruction set until the test ends.
func (s setting) use(t testing.TB) {
	was := isa
	t.Cleanup(func() { isa = was })
	isa = s.isa
}

// settings returns all of them for this machine.
func settings() (all []setting) {
	for _, by := range allStrategies {
		for _, nodeBytes := range nodeSizes {
			for _, level := range isas {
				for _, portable := range []bool{false, true} {
					all = append(all, setting{Options{
						NodeBytes: nodeBytes, Strategy: by, PortableStores: portable,
					}, level})
				}
			}
		}
	}
	return all
}
