//go:build ablate

package policy

func init() {
	for r := ruleNone + 1; r < rules; r++ {
		schemes = append(schemes, scheme{
			name: "cost-no-" + costRules[r], doc: "cost without a rule", cached: true,
			policy: func(seed uint64) Policy { return newCostWithout(r, seed) },
		})
	}
}

func newCostWithout(r costRule, seed uint64) *cost {
	c := newCost(seed)
	c.take(r)
	return c
}
