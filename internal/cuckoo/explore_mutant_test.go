//go:build mutants

package cuckoo_test

import (
	"testing"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// TestMutants: whichever rule of publish.go is broken, the explorer finds a lookup that
// breaks a promise, and none if all rules are kept.
func TestMutants(t *testing.T) {
	defer cuckoo.SetMutant(0)
	for m := range cuckoo.Mutations {
		name := cuckoo.SetMutant(m)
		t.Run(name, func(t *testing.T) {
			remotely, locally, told := -1, -1, ""
			for seed := range uint64(100) {
				if remotely < 0 {
					s := newScript(t, seed, remoteStores)
					if wrong, _, _ := exploreRemote(s); wrong != "" {
						remotely, told = int(seed), wrong
					}
				}
				if locally < 0 && seed < localScripts {
					s := newScript(t, seed, localStores)
					if wrong, _ := exploreLocal(s); wrong != "" {
						locally = int(seed)
						if told == "" {
							told = wrong
						}
					}
				}
				if (remotely >= 0 || locally >= 0) && seed >= localScripts || m == 0 && seed == remoteScripts {
					break
				}
			}
			t.Logf("remote readers notice in script %d, local ones in %d\n%s", remotely, locally, told)
			if caught := remotely >= 0 || locally >= 0; caught != (m != 0) {
				t.Errorf("caught: %v", caught)
			}
		})
	}
}
