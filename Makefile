# What a person does with this repository. `make` alone lists it.

WITHSTACK := go run ./tools/localstack/cmd/withstack --
CHECK     := $(CURDIR)/bin/check
TESTFLAGS ?=
FLAGS     ?=
RACE      ?= ./...
FUZZTIME  ?= 20s
SHELL     := /bin/bash

.DEFAULT_GOAL := help

.PHONY: help
help: ## List what there is to make.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Start everything on this machine and take one task from dispatch to receipt; Ctrl-C stops it.
	@exec bin/countersign dev --demo $(FLAGS)

.PHONY: demo
demo: build ## Run the demo once more against the server of `make run`.
	@bin/countersign demo

.PHONY: test
test: ## Run all tests, on a PostgreSQL and a Temporal of their own.
	$(WITHSTACK) go test -timeout 20m $(TESTFLAGS) ./...

.PHONY: race
race: ## The same under the race detector (needs a C compiler).
	$(WITHSTACK) go test -race -timeout 30m $(TESTFLAGS) $(RACE)

.PHONY: bench
bench: ## Run the benchmarks.
	$(WITHSTACK) go test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (20s).
	@set -e; for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

.PHONY: lint
lint: checkers ## Check form: gofmt, vet, staticcheck, and that workflows are deterministic.
	@out=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	  if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	go vet ./...
	$(CHECK)/staticcheck ./...
	$(CHECK)/workflowcheck -config tools/check/workflowcheck.yaml ./workflows/...

# The checkers are pinned in a module of their own, apart from the program's dependencies.
.PHONY: checkers
checkers:
	@mkdir -p $(CHECK)
	@cd tools/check && go build -o $(CHECK)/ honnef.co/go/tools/cmd/staticcheck go.temporal.io/sdk/contrib/tools/workflowcheck

.PHONY: build
build: ## Build bin/countersign, one static binary.
	CGO_ENABLED=0 go build -trimpath -o bin/countersign ./cmd/countersign

.PHONY: clean
clean: ## Remove what was built; data in .countersign stays.
	rm -rf bin
