# Everything here needs Go 1.26 and nothing else; modules are fetched as they are needed. The race
# detector of `make race` and `make check` also needs a C compiler.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

CONFIG    ?= config.toml
FUZZTIME  ?= 5s
BENCH     ?= .
BENCHTIME ?= 1s
COUNT     ?= 1
TESTFLAGS ?=
PROMO     ?=
TOOL      := go tool -modfile=tools.mod

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build, and serve on CONFIG (config.toml)
	@exec bin/tidegate -config $(CONFIG)

.PHONY: build
build: ## build bin/tidegate and bin/loadtest
	@go build -o bin/ . ./loadtest

.PHONY: test
test: ## run the tests
	go test $(TESTFLAGS) ./...

.PHONY: race
race: ## run the tests under the race detector, in another order each time
	go test -race -shuffle=on $(TESTFLAGS) ./...

.PHONY: fuzz
fuzz: ## fuzz each target for FUZZTIME (5s)
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort | while IFS=: read -r file name; do \
		go test -run '^$$' -fuzz "^$${name#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$$(dirname "$$file")" </dev/null; \
	done

.PHONY: callers-code
callers-code: ## run the Python and Node code of the callers' page against a gateway, where these are
	go test -tags callerscode -count 1 -v -run InterpretedCodeOfThePage ./gateway

.PHONY: bench
bench: ## run the benchmarks matching BENCH, COUNT times; compare two outputs with `make stat OLD=.. NEW=..`
	go test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) ./...

.PHONY: stat
stat: ## compare two outputs of `make bench COUNT=10`: OLD and NEW
	@$(TOOL) benchstat $(OLD) $(NEW)

.PHONY: lint
lint: ## gofumpt, go vet, staticcheck
	@files="$$($(TOOL) gofumpt -l .)"; if [ -n "$$files" ]; then echo "not formatted, try make fmt:"; echo "$$files"; exit 1; fi
	go vet ./...
	go vet -tags e2e ./loadtest
	$(TOOL) staticcheck ./...

.PHONY: fmt
fmt: ## format all Go files
	@$(TOOL) gofumpt -w .

.PHONY: demo
demo: ## play the promo incident against a gateway of its own; PROMO="-short" takes 30 s instead of 2 min
	go run ./loadtest promo $(PROMO)

.PHONY: rules
rules: ## check dashboards/alerts.yml, and what it says of some incidents, with promtool (installed where it is missing)
	@command -v promtool >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends prometheus; }
	promtool check rules dashboards/alerts.yml
	promtool test rules dashboards/alerts_test.yml

# A browser for `make e2e`, and axe for it to look with. Both are installed where they are missing.
AXE_DIR := loadtest/browser/axe
AXE     := $(AXE_DIR)/node_modules/axe-core/axe.min.js
OUT     ?= out/e2e

$(AXE): $(AXE_DIR)/package-lock.json
	@cd $(AXE_DIR) && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

.PHONY: browser
browser: $(AXE)
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-wqy-zenhei; }
	@fc-list 2>/dev/null | grep -qi cjk || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends fontconfig fonts-wqy-zenhei

.PHONY: e2e
e2e: browser ## drive the page with a real Chromium through the promo incident; pictures go to OUT (out/e2e)
	@mkdir -p $(OUT)
	AXE=$(abspath $(AXE)) E2E_OUT=$(abspath $(OUT)) E2E_TIMES=$(E2E_TIMES) go test -tags e2e -count 1 -timeout 20m -v -run '$(or $(E2E),OnThePage|TurnsTheCallerDown|CannotAct|ComesBack|IsReadable|TenThousand|FiftyPages)' ./loadtest

# Those that README.md shows, from the promo incident.
.PHONY: screenshots
screenshots: ## take the pictures that the README shows, by way of `make e2e`
	@$(MAKE) e2e E2E='TurnsTheCallerDown|IsReadable' OUT=out/screenshots
	@mkdir -p docs/img
	@cd out/screenshots && cp surge.png surge-zh.png caller.png callers-page.png ../../docs/img/

.PHONY: check
check: lint build test race ## what CI runs: lint, build, and the tests (seeds of all fuzz targets among them), also under the race detector
