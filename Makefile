# Targets for people and for CI; `make help` lists them. Nothing here
# needs root, and only module downloads need a network.

GO         ?= go
BIN        := bin
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS    := -s -w -X main.version=$(VERSION)

# What `make fuzz` gives each fuzz target, and what `make bench` runs.
FUZZTIME   ?= 10s
BENCH      ?= .
BENCHCOUNT ?= 6
BENCHOUT   ?= $(BIN)/bench.txt
PKGS       ?= ./...

# The pinned tools are built once; another tools/go.sum is another stamp.
TOOLS      := $(BIN)/.tools-$(shell cksum < tools/go.sum | cut -d ' ' -f 1)

# Nothing is compiled twice for flags that differ: programs, tests and linters share
# what they have compiled. Nobody needs tables for debuggers, which cost a tenth of the
# compiler's time and half of the linker's.
GOFLAGS_OF_USER := $(shell $(GO) env GOFLAGS)
export GOFLAGS := $(GOFLAGS_OF_USER) -trimpath -gcflags=all=-dwarf=false -ldflags=-w

GO_FILES   := git ls-files --cached --others --exclude-standard '*.go'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / \
		{ printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Each is a module, with what only it needs; tools and bench/peers are others.
MODULES    := . bench coordinator test
# PKGS of one module are the root's.
OF_PKGS    := $(if $(filter ./...,$(PKGS)),$(MODULES),.)

.PHONY: build
build: ## build bin/catfish, catfish-bench and catfish-coordinator, static, without cgo
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' \
		-o $(BIN)/catfish ./cmd/catfish
	cd bench && CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' \
		-o ../$(BIN)/catfish-bench ./cmd/catfish-bench
	cd coordinator && CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' \
		-o ../$(BIN)/catfish-coordinator ./cmd/catfish-coordinator

.PHONY: demo
demo: build ## a server and clients on real map data, and a page with both
	./$(BIN)/catfish demo

.PHONY: demo-cluster
demo-cluster: build ## a group of three servers whose primary is killed: what clients notice, and that nothing is lost; GROUPS=2: two groups
	./$(BIN)/catfish demo cluster $(if $(GROUPS),--groups $(GROUPS))

# Packages are tested in this order: those that take long do not wait until a
# processor has nothing else to do. One more at a time than there are processors,
# since tests wait for processes, files and time.
LONG := ./catfish/client ./catfish/server ./internal/cli ./rstar ./internal/store ./fastmsg
ATONCE := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

# Remote readers of records and keys, whose tests run over each transport.
READERS := ./internal/cuckoo/remote ./internal/record/remote ./internal/kv/remote

# Vetting is golangci-lint's (make lint), which would do all of it again.
GOTEST := $(GO) test -vet=off

.PHONY: test
test: ## test everything but bench, without cgo
	CGO_ENABLED=0 $(GOTEST) -p $(ATONCE) -skip '^Test($(MEASURING))$$' $(LONG) ./...
	cd test && CGO_ENABLED=0 $(GOTEST) -p $(ATONCE) -skip '^Test($(MEASURING))$$' ./...
	cd coordinator && CGO_ENABLED=0 $(GOTEST) -parallel 6 ./...
	CATFISH_READTEST_OVER=soft CGO_ENABLED=0 $(GOTEST) $(READERS)

.PHONY: test-bench
test-bench: ## test the benchmarks, the simulator and the paper's reports, without cgo
	cd bench && CGO_ENABLED=0 $(GOTEST) -p $(ATONCE) -skip '^Test($(MEASURING))$$' ./sim ./cmd/catfish-bench $$($(GO) list ./... | grep -v /rfp$$)

# The simulator's own tests are in make test; this simulates a page of docs, for
# longer than any test.
.PHONY: test-docs
test-docs: ## test that docs/papers/rfp-simulated.md is what is simulated, and what that shows
	cd bench && CGO_ENABLED=0 $(GOTEST) ./rfp

.PHONY: test-docs-long
test-docs-long: ## test that docs/research/paper-simulated.md is what is simulated: minutes
	cd bench && CGO_ENABLED=0 $(GOTEST) -timeout 1h -run SimulatedPage ./paper -args -table

# Tests of what measures on this machine: the paper's figures, other benchmarks, steps of
# load, soaks. They take as long as what they measure, and again for twice as long
# (internal/longer) where the machine does something else. In make test the commands'
# flags, errors and shorter runs have tests, and attacks do not wait until a server has
# given back what they took.
MEASURING := BenchDocs|BenchFeatures|BenchGroups|BenchIdle|BenchKV|BenchMicro|BenchMicroNetworks|BenchPaper|BenchPaperDuration|BenchPolicies|BenchRunBatch|BenchRunMixed|Soak|Steps
.PHONY: test-measuring
test-measuring: ## tests of what measures, which make test leaves out
	cd bench && CGO_ENABLED=0 $(GOTEST) -p 1 -timeout 1h -run '^Test($(MEASURING))$$' ./cmd/catfish-bench .
	cd test && CGO_ENABLED=0 $(GOTEST) -timeout 1h -run '^Test($(MEASURING))$$' ./attack
	cd test && CGO_ENABLED=0 $(GOTEST) -timeout 1h -run '^TestAttacks$$' ./attack -args -given-back 3m

# What make test has a part of: all settings of trees in all spaces and four times as
# many random histories, all sequences of writes of a small table, all seeds of data
# sets, large worlds of replicas.
.PHONY: test-long
test-long: ## test with more cases, for a quarter of an hour
	CGO_ENABLED=0 $(GOTEST) -timeout 1h -run 'Histories|Explore' ./rstar -args -seeds 4
	CGO_ENABLED=0 $(GOTEST) -run Exhaustive ./internal/cuckoo -args -every 1
	CGO_ENABLED=0 $(GOTEST) -run 'Explore$$' ./internal/record -args -long
	CGO_ENABLED=0 $(GOTEST) -run 'TestDamage$$' ./internal/store/disk -args -damages 1000
	CGO_ENABLED=0 $(GOTEST) -timeout 1h -run 'Exact$$|Stopped|Killed' ./catfish/client -args -seeds 10 -stops 10 -lease-stops 200 -kills 20
	CGO_ENABLED=0 $(GOTEST) -run UploadOfBad ./internal/web -args -bad 1000000
	CGO_ENABLED=0 $(GOTEST) -timeout 2h -run 'Explore$$|Walk' ./internal/replica -args -long -walks 60000
	cd coordinator && CGO_ENABLED=0 $(GOTEST) -timeout 1h -run NoStale . -args -stalls 50

# bench/peers is a module of its own, with the dependencies of what Catfish is compared
# with: to build it takes longer than to test it.
.PHONY: test-peers
test-peers: ## vet and test bench/peers, the comparisons, without servers
	cd bench/peers && CGO_ENABLED=0 $(GO) test ./...

.PHONY: test-kvpeers
test-kvpeers: ## test bench/peers/kvpeers with its servers (needs redis-server, memcached)
	cd bench/peers && CGO_ENABLED=0 $(GO) vet -tags servers ./kvpeers ./cmd/kvpeers
	cd bench/peers && CGO_ENABLED=0 $(GOTEST) -tags servers ./kvpeers ./cmd/kvpeers

.PHONY: test-httppeers
test-httppeers: build ## test bench/peers/httppeers with its servers (needs wrk, postgresql-15-postgis-3)
	cd bench/peers && CGO_ENABLED=0 $(GO) vet -tags servers ./httppeers
	cd bench/peers && CGO_ENABLED=0 $(GOTEST) -tags servers ./httppeers

# Simulations, the explorer, readers of files and some other tests have one
# goroutine, or one caller who copies megabytes; what the commands do is tested under the detector in the packages
# that do it, and what benchmarks share in ./bench. A server that is attacked or killed, and a
# client that is stopped, are other processes: their tests wait for most of their time.
ONE_GOROUTINE := Explore|Cost|Degenerate|SlidingWindow|DuplicatesStayFast|Reframed|Selective|Exhaustive|ForestExact|Disagreement|Model$$|Mutants$$|BrowseDropsDead|SearchManySome|PublishOrder|Interleavings|NearestFirst|NearestSome|ScanAmongMoves|Fragmentation|NoSpaceIsLost|MapAgainstModel|PointersZipf|Damage|(|Store|Boxes|Records)EachWriteFails|OriginalDoubles|Plants$$|PageOfLargeFeatures|UploadOfBadFeatures|Stopped(Lease|Reader)|Killed(Boxes|Store)|CollectionAgainstModel|Exact$$|Grow$$|GrowHook$$|PausesWithin|WatchInSteps|FeatureCrossing180|SearchReportsHeldBytes|Sample$$|KeptRecords$$|LargeFeatures$$|KeptValuesInParts|SlabGrows|LargeValues$$|PlansAreAlgorithm1|IntervalChangesNothing|DraftsInFragments|CompactLong|Draft$$|Full$$
.PHONY: race
race: ## test what is concurrent under the race detector (needs gcc)
	CGO_ENABLED=1 $(GOTEST) -race -timeout 30m -skip '^(FuzzHistory|Test($(ONE_GOROUTINE)))' \
		./rstar ./catfish/client $$($(GO) list ./... | grep -Ev '/(datasets|internal/(ycsb|places|cli|feature|placement|replica|replica/(journal|lane|link)|web/cql2|names|status)|cmd/catfish)$$')

.PHONY: race-bench
race-bench: ## the same of the benchmarks, which no user runs
	cd bench && CGO_ENABLED=1 $(GOTEST) -race -timeout 30m -skip '^Test(InsertAll|Replay|RunCut|Steps)' \
		$$($(GO) list ./... | grep -Ev '/(sim|report|paper|rfp|kv|micro|cmd/catfish-bench)$$')

# In tests the attacks are small, and not judged by time. ATTACK may be mix;
# ATTACKFLAGS are flags of the program, --help lists them.
ATTACK ?= all
.PHONY: attack
attack: build ## attack a server, see what its other clients notice
	cd test && $(GO) build -o ../$(BIN)/attack ./attack/cmd/attack
	$(BIN)/attack --attack '$(ATTACK)' $(ATTACKFLAGS)

# Each round kills, stops, cuts off or damages a part of a group of servers, and checks what
# its clients saw. ROUNDSFLAGS are flags of the program, --help lists them. With --groups slots move
# meanwhile, each time in another way.
.PHONY: test-rounds
test-rounds: $(BIN)/rounds ## a round for each fault that groups survive, four of several groups (needs root, iproute2)
	$(BIN)/rounds $(ROUNDSFLAGS)
	$(BIN)/rounds --groups 2 --seed 3 --rounds 4 --faults kill-primary,stop-primary,cut-primary

ROUNDSOF = --seed $$(date +%Y%m%d)0000 --table $(BIN)/rounds$(1).md --json $(BIN)/rounds$(1).json $(ROUNDSFLAGS)
.PHONY: rounds
rounds: $(BIN)/rounds ## 1,000 rounds of faults, in two hours, and tables of them (needs root, iproute2)
	$(BIN)/rounds --rounds 800 $(call ROUNDSOF)
	$(BIN)/rounds --groups 2 --rounds 200 $(call ROUNDSOF,-groups)

.PHONY: rounds-docs
rounds-docs: rounds ## make rounds, and put their tables into docs/cluster.md
	for n in rounds rounds-groups; do \
		sed -i -e "/^<!-- $$n -->\$$/r $(BIN)/$$n.md" \
			-e "/^<!-- $$n -->\$$/,/^<!-- $$n: end -->\$$/{/^<!--/!d}" docs/cluster.md; done

# HydraDB's figure 13 as a service, switches and new members: with synced writes, and, since HydraDB is in
# memory alone, writes without. GROUPSFLAGS are flags of the command, --help lists them.
.PHONY: groups-docs
groups-docs: build ## measure what replication costs, and put the tables into docs/cluster.md (needs root, iproute2)
	./$(BIN)/catfish bench groups --table $(BIN)/groups.md --json $(BIN)/groups.json $(GROUPSFLAGS)
	./$(BIN)/catfish bench groups --part writes --level received --sync off --table $(BIN)/groups-off.md \
		--json $(BIN)/groups-off.json $(GROUPSFLAGS)
	{ echo 'Commit '$$(git rev-parse --short HEAD)', `make groups-docs`.'; echo; cat $(BIN)/groups.md; echo; \
		cat $(BIN)/groups-off.md; } >$(BIN)/groups-all.md
	sed -i -e '/^<!-- groups -->$$/r $(BIN)/groups-all.md' \
		-e '/^<!-- groups -->$$/,/^<!-- groups: end -->$$/{/^<!--/!d}' docs/cluster.md

.PHONY: $(BIN)/rounds
$(BIN)/rounds: build
	cd test && CGO_ENABLED=0 $(GO) build -o ../$(BIN)/rounds ./rounds/cmd/rounds

.PHONY: build-ofi
build-ofi: ## build bin/catfish-ofi and its bench, with RDMA (needs libfabric-dev, libibverbs-dev, gcc)
	CGO_ENABLED=1 $(GO) build -tags ofi -trimpath -buildvcs=false \
		-ldflags '$(LDFLAGS)' -o $(BIN)/catfish-ofi ./cmd/catfish
	cd bench && CGO_ENABLED=1 $(GO) build -tags ofi -trimpath -buildvcs=false \
		-ldflags '$(LDFLAGS)' -o ../$(BIN)/catfish-ofi-bench ./cmd/catfish-bench

# Over libfabric's tcp, natively. The address sanitizer finds what the C
# side leaks, or touches after it was freed.
# Linted are the packages with most files for the tag; two others have a test file, which vet reads.
OFI_PKGS := ./internal/rdma/ofi ./internal/rdmaprobe ./internal/readtest ./internal/catfishtest ./fastmsg

# What cgo makes of a file names the file's directory. Trimmed, two checkouts share it
# in Go's cache, and the linter looks for the other's files.
test-ofi test-rdma test-rdma-long: export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS))

# Only these have files for the tag. What depends on data and not on the transport
# `make test` has whole: the library's tests are the short ones.
.PHONY: test-ofi
test-ofi: $(TOOLS) ## lint and test with libfabric (needs what build-ofi needs)
	CGO_ENABLED=1 $(BIN)/golangci-lint run --build-tags ofi $(OFI_PKGS)
	CGO_ENABLED=1 $(GO) vet -tags ofi ./catfish/client ./internal/cli
	CGO_ENABLED=1 $(GOTEST) -short -tags ofi ./catfish/client ./catfish/server ./fastmsg ./internal/rdmaprobe $(READERS)
	CGO_ENABLED=1 $(GOTEST) -tags ofi -run Fabric ./internal/cli
	CGO_ENABLED=1 $(GOTEST) -race -tags ofi ./internal/rdma/ofi
	CGO_ENABLED=1 $(GOTEST) -asan -tags ofi ./internal/rdma/ofi

.PHONY: test-rdma
test-rdma: ## test devices and messages over libfabric's verbs in a small virtual machine
	STAGES="$${STAGES:-conformance messages processes}" GO='$(GO)' tools/rdmavm/test.sh

.PHONY: test-rdma-long
test-rdma-long: ## the same, and the library's histories and reads of records: a quarter of an hour
	GO='$(GO)' tools/rdmavm/test.sh

.PHONY: test-geos
test-geos: ## predicates of package feature beside those of GEOS (needs libgeos-dev, gcc)
	CGO_ENABLED=1 $(GO) test -tags geos -run GEOS ./internal/feature

# Clients that others have made read what bin/catfish serves over HTTP. npm
# installs what package-lock.json says; a test that finds it missing fails.
CLIENTS := test/webclients/node_modules/.package-lock.json

$(CLIENTS): test/webclients/package.json test/webclients/package-lock.json
	cd test/webclients && npm ci --ignore-scripts
	@touch $@

.PHONY: test-http
test-http: build $(CLIENTS) ## test HTTP with GDAL, OWSLib and others (needs gdal-bin, python3-owslib, node, npm)
	cd test && CGO_ENABLED=0 $(GO) vet -tags clients ./webclients
	cd test && CGO_ENABLED=0 $(GOTEST) -count=1 -tags clients ./webclients

.PHONY: test-qgis
test-qgis: build ## test HTTP with QGIS (needs python3-qgis, which is large)
	cd test && CGO_ENABLED=0 $(GO) vet -tags clients,qgis ./webclients
	cd test && CGO_ENABLED=0 $(GOTEST) -count=1 -tags clients,qgis -run QGIS ./webclients

.PHONY: test-arm64
test-arm64: ## test scans by NEON, emulated
	GO='$(GO)' tools/arm64.sh

.PHONY: build-arm64
build-arm64: ## compile all programs for arm64, which takes minutes
	for m in . bench coordinator; do (cd $$m && GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/...) || exit 1; done

.PHONY: fuzz
fuzz: ## run each fuzz target of PKGS for FUZZTIME (default 10s)
	CGO_ENABLED=0 tools/fuzz.sh $(FUZZTIME) '$(PKGS)'

# Each breaks one rule of rstar/publish.go or internal/record/readers.go; the explorers
# must notice.
.PHONY: mutants
mutants: ## show that a broken protocol would be noticed
	CGO_ENABLED=0 $(GO) vet -tags mutants ./rstar ./internal/record ./internal/cuckoo/... ./internal/kv
	CGO_ENABLED=0 $(GOTEST) -tags mutants -run Mutant ./rstar ./internal/record ./internal/cuckoo/... ./internal/kv

# Six runs of each benchmark are the fewest from which benchstat derives
# a 95 % confidence interval.
.PHONY: bench
bench: $(TOOLS) ## benchmark PKGS, summarised by benchstat
	@mkdir -p $(dir $(BENCHOUT))
	for m in $(OF_PKGS); do (cd $$m && $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem \
		-count $(BENCHCOUNT) $(PKGS)) || exit 1; done > $(BENCHOUT) || \
		{ cat $(BENCHOUT); exit 1; }
	$(BIN)/benchstat $(BENCHOUT)

# Variables: bench/peers/run.sh. In seconds, while at work on rstar:
#   make bench-tree OBJECTS=100000 COUNT=1 PEERS=tidwall BENCH='op=search'
.PHONY: bench-tree
bench-tree: export CATFISH_ANDORRA ?= $(CURDIR)/datasets/testdata/andorra.osm.pbf
bench-tree: export BENCH := $(BENCH)
bench-tree: $(TOOLS) ## compare rstar with other R-trees (COUNT, PEERS, OBJECTS)
	bench/peers/run.sh

# HTTPFLAGS such as --tile38 PROGRAM --json FILE; --help lists them.
.PHONY: bench-http
bench-http: build ## measure items and tiles over HTTP beside PostGIS (needs wrk, postgresql-15-postgis-3)
	cd bench/peers && $(GO) run ./httppeers --commit $$(git rev-parse --short HEAD) $(HTTPFLAGS)

# Every figure, small, in a minute: counts and orderings are checked, not
# times. With root and iproute2 also through the networks; without, it says
# so. The real run, hours, is: bin/catfish bench paper --out DIR
PAPEROUT ?= $(BIN)/paper-quick
# On a shared machine a core may be gone for the moment that a point takes;
# what fails twice is no accident.
PAPERQUICK := ./$(BIN)/catfish bench paper --quick --objects 20000 \
	--requests 300 --clients 1,2,8 --fresh --check --out $(PAPEROUT)

.PHONY: paper-quick
paper-quick: build ## the paper's experiments, small; checks orderings
	$(PAPERQUICK) || $(PAPERQUICK)

# The page's commands, each printed above its table; less than an hour on a
# machine that does nothing else. An interrupted run goes on.
BENCHSTORE ?= $(BIN)/bench-docs

.PHONY: bench-docs
bench-docs: build $(TOOLS) ## measure docs/research/benchmarks.md anew (BENCHSTORE keeps what is done)
	./$(BIN)/catfish bench docs --out docs/research/benchmarks.md --store $(BENCHSTORE) \
		--date $$(git show -s --format=%cs HEAD)

# Simulated, so the same on every machine; a test compares.
.PHONY: rfp-docs
rfp-docs: build ## simulate docs/papers/rfp-simulated.md anew
	./$(BIN)/catfish bench rfp --out docs/papers/rfp-simulated.md

# The same of the paper's table; make test-docs-long compares.
.PHONY: paper-docs
paper-docs: build ## simulate the table of docs/research/paper-simulated.md anew
	./$(BIN)/catfish bench sim --table >$(BIN)/paper-table.md
	sed -i -e '/^<!-- bench sim --table -->$$/r $(BIN)/paper-table.md' \
		-e '/^<!-- bench sim --table -->$$/,/^<!-- bench sim --table: end -->$$/{/^<!--/!d}' docs/research/paper-simulated.md

# The same of HydraDB's figures 10, 12 and 13; a test compares.
.PHONY: hydradb-docs
hydradb-docs: build ## simulate the tables of docs/papers/hydradb.md anew
	for figure in 10 12 13; do \
		./$(BIN)/catfish bench hydradb --figure $$figure >$(BIN)/hydradb-table.md && \
		sed -i -e "/^<!-- hydradb $$figure -->\$$/r $(BIN)/hydradb-table.md" \
			-e "/^<!-- hydradb $$figure -->\$$/,/^<!-- hydradb: end -->\$$/{/^<!--/!d}" docs/papers/hydradb.md || exit 1; done

# The same of several groups; a test compares a part.
.PHONY: scale-out-docs
scale-out-docs: build ## simulate the table of docs/research/scale-out-simulated.md anew
	./$(BIN)/catfish bench sim --scale-out >$(BIN)/scale-out-table.md
	sed -i -e '/^<!-- scale-out -->$$/r $(BIN)/scale-out-table.md' \
		-e '/^<!-- scale-out -->$$/,/^<!-- scale-out: end -->$$/{/^<!--/!d}' docs/research/scale-out-simulated.md

# RDMA_Mongo's Formula 1: computed, a test compares.
.PHONY: mongo-docs
mongo-docs: build ## write the sizes of buffers into docs/papers/rdma-mongo.md
	./$(BIN)/catfish bench mongo --formula >$(BIN)/formula.md
	sed -i -e '/^<!-- formula -->$$/r $(BIN)/formula.md' \
		-e '/^<!-- formula -->$$/,/^<!-- formula: end -->$$/{/^<!--/!d}' docs/papers/rdma-mongo.md

# The list of all papers' mechanisms and numbers quotes these pages; a test compares.
.PHONY: papers
papers: rfp-docs paper-docs hydradb-docs mongo-docs ## simulate what is simulated of papers anew, and make docs/papers/README.md
	cd bench && CGO_ENABLED=0 $(GOTEST) ./papers -run Page -args -write

.PHONY: bench-quick
bench-quick: build $(TOOLS) ## every command of docs/research/benchmarks.md, too short to mean anything
	./$(BIN)/catfish bench docs --quick --fresh --store $(BIN)/bench-quick --out $(BIN)/bench-quick.md

# What takes long or measures, and CI does not run. It goes on after a failure, and
# its last lines are a page with the result of each.
NIGHTLY ?= build-arm64 test-rdma-long race-bench alerts helm test-long test-measuring test-docs-long paper-quick bench-quick attack rounds
.PHONY: nightly
nightly: ## what CI leaves out because it measures or takes long: a page with each result
	MAKE='$(MAKE)' tools/nightly.sh $(NIGHTLY)

.PHONY: proto
proto: $(TOOLS) ## regenerate the protobuf code
	$(BIN)/buf generate

.PHONY: generate
generate: ## regenerate the assembly of rstar's scans
	cd tools && $(GO) run ./scanasm -out ../rstar/scan_amd64.s \
		-stubs ../rstar/scan_stubs_amd64.go -pkg rstar

# The page at /. What it is built to is committed, so that nobody else needs npm.
NPM := npm --prefix internal/web/app

.PHONY: page
page: ## build the page at / from internal/web/app/src into internal/web/app/dist (needs Node.js, npm)
	$(NPM) ci --no-audit --no-fund
	$(NPM) run build

# CATFISH and CHROMIUM are other programs to test with. Pictures of what the
# tests saw are in web/app/shots.
.PHONY: test-page
test-page: build ## test the page in Chromium; what is committed is what its sources give
	$(NPM) ci --no-audit --no-fund
	$(NPM) test
	tools/page-drift.sh
	$(NPM) run test:browser

# GORELEASER=goreleaser is one that is installed; the default takes minutes to build,
# once. It has more dependencies than all else here, so it is in no go.mod.
GORELEASER_VERSION ?= v2.16.0
RELEASER = $(or $(GORELEASER),$(GO) run github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION))
.PHONY: release-check
release-check: export GOFLAGS := $(GOFLAGS_OF_USER)
release-check: ## build a release into dist/, with its SBOMs and sums, and look at it
	cd tools && CGO_ENABLED=0 $(GO) build -o ../$(BIN)/sbom ./sbom
	$(RELEASER) check
	PATH=$(CURDIR)/$(BIN):$$PATH $(RELEASER) release --snapshot --clean
	tools/release-check.sh

# HELM=helm is one that is installed; the default takes minutes to build, once.
HELM_VERSION ?= v4.3.1
.PHONY: helm
helm: ## lint and render deploy/helm (HELM is helm 3 or 4, HELMFLAGS may be --update)
	HELM='$(or $(HELM),$(GO) run helm.sh/helm/v4/cmd/helm@$(HELM_VERSION))' tools/helm.sh $(HELMFLAGS)

# PROMTOOL=promtool is one that is installed (Debian: prometheus); the default takes minutes to
# build, once.
PROMTOOL_VERSION ?= v0.316.0
.PHONY: alerts
alerts: export GOFLAGS := $(GOFLAGS_OF_USER)
alerts: PROMTOOL ?= $(GO) run github.com/prometheus/prometheus/cmd/promtool@$(PROMTOOL_VERSION)
alerts: ## check the alerts of deploy/prometheus, and when those of groups fire
	$(PROMTOOL) check rules deploy/prometheus/alerts.yml
	$(PROMTOOL) test rules deploy/prometheus/alerts_test.yml

# Without cgo, as the tests: the linter needs all dependencies compiled, and those that
# import package net would be compiled once more. No file here needs cgo without a tag.
.PHONY: lint
lint: export CGO_ENABLED := 0
lint: $(TOOLS) ## gofmt, golangci-lint, buf, generated code is fresh, imports run downwards, plain words, promised names
	@bad=$$($(GO_FILES) | xargs -r gofmt -l); \
		test -z "$$bad" || { echo "not gofmt'ed: $$bad"; exit 1; }
	for m in $(OF_PKGS); do (cd $$m && $(CURDIR)/$(BIN)/golangci-lint run $(PKGS)) || exit 1; done
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code
	cd tools && $(GO) run ./importgraph > /dev/null
	cd tools && $(GO) run ./words > /dev/null
	cd tools && $(GO) run ./exported > /dev/null
	tools/proto-drift.sh
	GO='$(GO)' tools/asm-drift.sh

.PHONY: tools
tools: $(TOOLS) ## build the pinned tools of tools/go.mod into bin/

$(TOOLS):
	@mkdir -p $(BIN) && rm -f $(BIN)/.tools-*
	cd tools && CGO_ENABLED=0 $(GO) build -trimpath -o ../$(BIN)/ tool
	@touch $@

.PHONY: clean
clean: ## remove bin/
	rm -rf $(BIN)
