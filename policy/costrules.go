package policy

// The rules of policy cost, each of which can be taken out, to see what it is
// worth: scheme cost-no-RULE of builds with the tag ablate.
type costRule uint8

const (
	ruleNone     costRule = iota
	ruleSizes             // small searches are offloaded before large ones
	ruleLatency           // latencies decide where counts say nothing
	ruleProbes            // end-point probes
	ruleEarly             // those of the first 0.1 s and after another load
	ruleProofs            // a probe's gain is to be shown by more
	ruleSurprise          // what comes as a surprise ends the memory
	ruleMemory            // earlier pairs count
	ruleFar               // but the less the farther q has gone
	ruleRest              // nothing is tried at an end, most of the time
	ruleSkip              // not every search is asked about
	ruleBeats             // heartbeats tell of another load
	ruleShift             // so do counts
	ruleRetry             // a way not taken for long is tried
	ruleLeave             // an end is left for evidence only
	ruleRun               // steps grow after two in one direction
	ruleGroup             // clients of a process have one q
	ruleSettle            // an epoch's first quarter is not counted
	ruleDeep              // trying is rarer where it is dear
	ruleGlance            // a search that is sure is not looked at
	ruleRare              // clients with few searches go by latencies
	ruleWidth             // pairs are wider while q moves
	rules
)

var costRules = [rules]string{
	"", "sizes", "latency", "probes", "early", "proofs", "surprise", "memory", "far", "rest", "skip", "beats",
	"shift", "retry", "leave", "run", "group", "settle", "deep", "glance", "rare", "width",
}

// take takes a rule out.
func (c *climb) take(r costRule) {
	if c.off = r; r == ruleEarly || r == ruleProbes {
		c.early, c.warm = 0, true
	}
}
