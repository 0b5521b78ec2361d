//go:build ablate

package policy

func init() {
	for r := ruleNone + 1; r < rules; r++ {
		make := func() Policy {
			c := newCost()
			if c.off = r; r == ruleProbes {
				c.probes = costProbe
			}
			return c
		}
		schemes = append(schemes, Scheme{Name: costName(r), Doc: "cost without a rule", Cached: true,
			New: func(_ uint64, g *Group) Policy {
				if r == ruleGroup {
					return make()
				}
				return g.policy(costName(r), make)
			}})
	}
}
