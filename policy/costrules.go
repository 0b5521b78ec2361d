package policy

// The rules of policy cost, each of which can be taken out, to see what it is
// worth: scheme cost-no-RULE.
type costRule uint8

const (
	ruleNone    costRule = iota
	ruleProbes           // end-point probes
	ruleProofs           // a probe's gain is to be shown by more
	ruleSoon             // an end is probed again soon after a move there
	ruleShift            // counts show another load
	ruleMemory           // earlier pairs count
	ruleNoise            // pairs show how much they differ by chance
	ruleGrowth           // steps grow and shrink
	ruleRest             // nothing is tried at an end, most of the time
	ruleSettle           // an epoch's first quarter is not counted
	ruleEpoch            // epochs are long against searches
	ruleLatency          // latencies decide where counts say nothing
	ruleGroup            // clients of a process have one q
	rules
)

var costRules = [rules]string{"", "probes", "proofs", "soon", "shift", "memory", "noise", "growth", "rest",
	"settle", "epoch", "latency", "group"}

func costName(r costRule) string {
	if r == ruleNone {
		return "cost"
	}
	return "cost-no-" + costRules[r]
}
