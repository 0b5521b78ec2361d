package rdmatest

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/rdmatest/internal/inmem"
)

func TestMain(m *testing.M) {
	// One bug leaks a goroutine.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/catfish-index/catfish/internal/rdma/rdmatest/internal/inmem.(*queuePair).closeLocked.func1"))
}

func config(f *inmem.Fabric) Config {
	return Config{
		Open:          func(testing.TB) rdma.Device { return f.Open() },
		Addr:          func(testing.TB) string { return f.Addr() },
		Kill:          func(_ testing.TB, d rdma.Device) { d.(*inmem.Device).Kill() },
		SingleProcess: true,
	}
}

// TestConformance: the suite requires nothing impossible.
func TestConformance(t *testing.T) { Run(t, config(inmem.New())) }

// mutants names for each bug of inmem a case that must find it.
var mutants = map[inmem.Bug]string{
	inmem.EventBeforeBytes:  "BytesBeforeEvent",
	inmem.ReadOvertakes:     "ReadSeesWrite",
	inmem.WordBeforeBytes:   "WritesBeforeWord",
	inmem.TornWord:          "WritesBeforeWord",
	inmem.TornLine:          "LinesAreAtomic",
	inmem.WriteRoundsUp:     "WriteContent",
	inmem.CompletionOrder:   "CompletionFields",
	inmem.SignalsAll:        "UnsignaledIsSilent",
	inmem.MixesPosts:        "PostsStayTogether",
	inmem.PrivateDataCut:    "PrivateData",
	inmem.ReasonLost:        "Reject",
	inmem.DialLate:          "DialTimeout",
	inmem.UnfairPoll:        "Fairness",
	inmem.RegionNotZeroed:   "Region",
	inmem.AddressTakenTwice: "AddressInUse",

	inmem.NoBoundsCheck:     "Remote/LastBytePastEnd/write",
	inmem.PartialWrite:      "Remote/LastBytePastEnd/write",
	inmem.NoAccessCheck:     "Remote/NoRemoteRead/read",
	inmem.StaleKeyWorks:     "StaleKeyWhileInUse",
	inmem.NoLocalWriteCheck: "LocalErrors",
	inmem.NoLocalBounds:     "LocalErrors",
	inmem.UnsignaledLost:    "PeerFailureFlushes/unsignaled",
	inmem.NoFlush:           "CloseFlushesPeer",
	inmem.FailureUntold:     "Remote/UnknownKey/read",
	inmem.FailureToldTwice:  "Remote/UnknownKey/read",
	inmem.PeerNotFailed:     "Remote/UnknownKey/read",
	inmem.BystandersFail:    "Remote/UnknownKey/read",
	inmem.PostAfterFailure:  "Remote/UnknownKey/read",
	inmem.DeathUnnoticed:    "KilledInProcess",
	inmem.RevokeForgotten:   "Revoke",
	inmem.RevokeTooEarly:    "RevokeDuringWrites",

	inmem.EventLost:       "ReceiverNotPolling",
	inmem.NoBackPressure:  "ReceiverNotPolling",
	inmem.NoSendLimit:     "QueueFull",
	inmem.RestLost:        "QueueFull",
	inmem.WakeForgotten:   "WakeBeforeWait",
	inmem.WakeUpLost:      "NoLostWakeUp",
	inmem.TimeoutEarly:    "WaitTimeout",
	inmem.ContextIgnored:  "WaitContext",
	inmem.CloseKeepsWait:  "CloseDuringWait",
	inmem.EventAfterClose: "CloseDropsCompletions",
	inmem.GoroutineLeft:   "ConnectAndClose",
}

// TestSuiteFindsBugs: each bug fails the case that is about it.
func TestSuiteFindsBugs(t *testing.T) {
	for bug, name := range mutants {
		t.Run(strings.ReplaceAll(string(bug), " ", "-"), func(t *testing.T) {
			cfg := config(inmem.NewWithBug(bug))
			cfg.Patience = 100 * time.Millisecond // Each waits for an event that never comes.
			for _, c := range cases(cfg) {
				if c.name != name {
					continue
				}
				r := record(t, func(t testing.TB) {
					checkLeaks(t, cfg)
					runCase(t, cfg, c)
				})
				if !r.Failed() {
					t.Fatalf("%s did not find it", name)
				}
				t.Log(strings.SplitN(r.first, "\n", 2)[0])
				return
			}
			t.Fatalf("the suite has no case %s", name)
		})
	}
}
