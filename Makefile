# Everything a contributor runs. "make help" lists it.

# Packages are built once for all checkouts of a machine.
export GOFLAGS += -trimpath

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

FUZZTIME ?= 10s
SOAK     ?= 10m
LINT     := bin/golangci-lint
PACKAGE  := github.com/argosy-cd/argosy
MODULES  := . conformance lab browser tools image alerts site
# The linter runs all of vet, on the main module and the lab; the tests need not run some of it again.
UNVETTED := -vet=off
GENERATED := docs/cli docs/findings.md docs/lint docs/versions.md schemas deploy/s3-cmp deploy/appset-cmp deploy/kustomize/cmp examples/demo

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-14s %s\n", $$1, $$2}'

.PHONY: build
build: ## build the static binary bin/argosy
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/argosy ./cmd/argosy

.PHONY: demo
demo: build ## boot the example cluster, without a cluster
	bin/argosy demo

.PHONY: test
test: ## run the tests (the first time, they build the S3 server, helm and kustomize that they compare with)
	go test -shuffle=on -timeout 30m ./...
	$(MAKE) browser

.PHONY: browser
browser: ## test the board in a real browser (installs Chromium as root, or says what to install)
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } || true
	cd browser && go test $(UNVETTED) -count=1 -timeout 20m ./...

.PHONY: image
image: ## make the image for amd64 and arm64 without a daemon, and run it in a chroot (as root)
	cd image && go test $(UNVETTED) -count=1 -timeout 30m ./...

.PHONY: screenshots
screenshots: build ## write the pictures of the README from the demo: docs/board.png, docs/demo.txt
	cd browser && go run ./screenshots ../bin/argosy ../docs

.PHONY: docs
docs: bin/hugo ## build the site of the documentation into bin/site, without the network, and check its links
	rm -rf bin/site
	timeout 300 bin/hugo --quiet --panicOnWarning --noBuildLock --source site --destination ../bin/site
	cd site && go run ./check ../bin/site

bin/hugo: site/go.mod site/go.sum
	cd site && CGO_ENABLED=0 go build -o ../$@ github.com/gohugoio/hugo

.PHONY: check
check: static race hostile ## the one gate: tidy, format, lint, generated files, race tests, hostile inputs

.PHONY: static
static: tidy-check fmt-check lint generate-check small

.PHONY: small
small: ## run the tests of the small modules: alert rules by Prometheus's own parser, the page of make bench
	cd alerts && go test $(UNVETTED) ./...
	cd tools && go test $(UNVETTED) ./...
	cd site && go test $(UNVETTED) ./...

# One of our dependencies imports package plugin, so Go would have the C compiler link each test, which takes a fifth longer.
LINKED = $(if $(filter linux/amd64,$(shell go env GOOS)/$(shell go env GOARCH)),-ldflags=-linkmode=internal)

.PHONY: race
# The race detector waits for a second when a process ends, and the scripts start hundreds.
race: ## run the tests with the race detector
	GORACE=atexit_sleep_ms=10 CGO_ENABLED=1 go test $(UNVETTED) -race $(LINKED) -shuffle=on -timeout 30m ./...

# Packages with tests that the race detector leaves out: they bound the memory and the time of processes, which it exceeds.
UNRACED = $(shell grep -rl --include=*_test.go argosy/internal/hostile cmd internal | xargs -n1 dirname | sort -u | grep -v ^internal/worker | sed 's|^|./|')

.PHONY: hostile
hostile: ## without the race detector: hostile and large inputs, and the command lines of the docs
	go test $(UNVETTED) -timeout 30m -run 'Hostile|Large|Docs|Conformance' $(UNRACED)
	go test $(UNVETTED) -timeout 30m ./internal/worker/...

.PHONY: tidy-check
tidy-check:
	@for m in $(MODULES); do (cd $$m && go mod tidy -diff) || { echo "$$m: run 'go mod tidy'"; exit 1; }; done

.PHONY: fmt
fmt: $(LINT) ## format the code
	$(LINT) fmt ./...

.PHONY: fmt-check
fmt-check: $(LINT)
	@$(LINT) fmt --diff ./... || { echo "run 'make fmt'"; exit 1; }

.PHONY: lint
lint: $(LINT) ## run the linters
	$(LINT) run ./...
	cd lab && ../$(LINT) run ./...
	cd browser && ../$(LINT) run ./...
	cd image && ../$(LINT) run ./...
	cd alerts && ../$(LINT) run ./...
	cd tools && ../$(LINT) run ./...
	cd site && ../$(LINT) run -c ../tools/.golangci.yml ./...

$(LINT): tools/go.mod tools/go.sum
	cd tools && go build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: generate
generate: ## write the generated files: docs/cli, docs/findings.md, docs/lint, docs/versions.md, schemas, plugin.yaml of each plugin
	UPDATE=1 go test -count=1 -run 'TestReference' ./cmd/argosy

.PHONY: generate-check
generate-check: generate
	@git diff --exit-code -- $(GENERATED) && test -z "$$(git ls-files --others --exclude-standard $(GENERATED))" || { echo "commit what 'make generate' writes"; exit 1; }

.PHONY: proto
proto: ## write the Go code of the plugin protocol (installs protoc as root)
	command -v protoc >/dev/null || apt-get install -y -qq protobuf-compiler
	GOBIN=$(CURDIR)/bin go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11
	GOBIN=$(CURDIR)/bin go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
	cd internal/cmp/pluginpb && PATH="$(CURDIR)/bin:$$PATH" protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto

.PHONY: golden
golden: ## rewrite our golden files; look at the difference before you commit it
	UPDATE=1 go test -count=1 ./...

.PHONY: conformance
conformance: ## compare with Argo CD 3.2.11 itself (compiles it; UPDATE=1 writes its answers)
	cd conformance && go test -count=1 -timeout 60m ./...

.PHONY: programs
programs: # Kubernetes, Argo CD and what else the tests compare with, built once for a machine
	cd lab && go run ./cmd/program etcd kubernetes argocd kwok versitygw helm kustomize >/dev/null

.PHONY: e2e
e2e: ## run the end-to-end tests on a real cluster (builds Kubernetes and Argo CD once)
	cd lab && go test $(UNVETTED) -count=1 -timeout 60m ./...

.PHONY: e2e-long
e2e-long: ## the same with more repetitions and larger numbers
	cd lab && LONG=1 go test $(UNVETTED) -count=1 -timeout 90m ./...

# The tests of the commands that look at a cluster: boot, why, status, wait, install, and the health check.
LIVE := ^Test(BootCommand|BootCommandStops|BootUnwedge|BootInstall|Why|WhyPods|WhyHoldout|WhyUnseen|Install|HealthScript)$$

.PHONY: e2e-versions
e2e-versions: ## run the live tests with another Argo CD: ARGOCD=DIR is a checkout of its repository
	@test -n "$(ARGOCD)" || { echo "say which: make e2e-versions ARGOCD=DIR, a checkout of Argo CD's repository at the tag of a version"; exit 2; }
	mkdir -p "$(ARGOCD)/ui/dist/app" && touch "$(ARGOCD)/ui/dist/app/gitkeep"
	cd "$(ARGOCD)" && CGO_ENABLED=0 go build -trimpath -o dist/argocd ./cmd
	cd lab && LAB_ARGOCD="$(abspath $(ARGOCD))" go test $(UNVETTED) -count=1 -timeout 60m -run '$(LIVE)' ./e2e

.PHONY: lab
lab: ## start a real cluster for yourself and leave it running
	cd lab && go build -o ../bin/lab ./cmd/lab
	bin/lab up

.PHONY: lab-down
lab-down: ## stop it
	bin/lab down

.PHONY: bench
bench: ## measure ours and our peers' on a quiet machine, and write docs/benchmarks.md (PARTS=copy measures one part again)
	.ci/bench $(PARTS)

.PHONY: soak
soak: ## besiege the sidecar for SOAK: honest and hostile requests, while it is killed at random
	go run ./internal/cmp/siegetest/soak -duration $(SOAK)

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME
	FUZZTIME=$(FUZZTIME) .ci/fuzz

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
