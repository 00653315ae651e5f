# Kvasir's commands. `make serve` and `make test` need nothing but Debian, make and the network.
.DEFAULT_GOAL := help
export JOBS ?= $(shell nproc)
KVASIR := build/release/bin/kvasir

help:      ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

serve: build ## build what is missing, fetch the default models, serve on http://127.0.0.1:8080
	@exec $(KVASIR) serve $(ARGS)

build: ## the release binary: build/release/bin/kvasir
	@scripts/setup.sh build
	@scripts/build.sh release

test: ## everything that CI runs
	@scripts/setup.sh test
	@scripts/test.sh

asan: ## the C++ tests under the address and undefined-behaviour sanitizers
	@scripts/setup.sh test
	@scripts/sanitize.sh asan

tsan: ## the C++ tests under the thread sanitizer
	@scripts/setup.sh test
	@scripts/sanitize.sh tsan

fuzz: ## the libFuzzer programs of tests/fuzz, a minute each
	@scripts/setup.sh test
	@scripts/fuzz.sh 60

arm64: ## cross build for arm64, and the C++ tests under qemu-user
	@scripts/setup.sh arm64
	@scripts/build.sh arm64 tests
	@ctest --test-dir build/arm64 --output-on-failure --timeout 1200

bench: build ## Kvasir beside llama.cpp on this machine, with ratios (QUICK=1: a few minutes, the small model alone)
	@scripts/setup.sh test
	@scripts/bench.sh $(ARGS)

bench-streams: build ## 10,000 open streams on a tiny model: memory, errors, and what another client sees
	@python3 bench/open_streams.py --kvasir build/release/bin/kvasir $(ARGS)

bench-overload: build ## more load than the server can take: goodput, floods, shares, the cache, costs (5 minutes; QUICK=1: 90 s)
	@scripts/build.sh release tenancy_bench
	@$(KVASIR) pull smollm2
	@python3 bench/overload.py --kvasir $(KVASIR) $(if $(QUICK),--quick) $(ARGS)

bench-fleet: build ## what a gateway costs (events relayed by a core, time to the first token) and what its router gains (6 minutes)
	@scripts/build.sh release fleet_relay
	@$(KVASIR) pull smollm2
	@python3 bench/fleet.py --kvasir $(KVASIR) --relay build/release/bin/fleet_relay $(ARGS)

bench-fleet-split: build ## bursts of long prompts over steady chats: prefill and decode apart, together, and together without chunks
	@$(KVASIR) pull smollm2
	@python3 bench/fleet_split.py --kvasir $(KVASIR) $(ARGS)

build-cuda: ## the release binary with the CUDA device, for GPU machines: build/cuda/bin/kvasir (no GPU needed to build)
	@scripts/setup.sh build
	@scripts/build.sh cuda

gpu-test: ## the tests of the CUDA device, on a machine with a GPU, the small ones under memcheck too
	@scripts/setup.sh test
	@scripts/build.sh cuda gpu_test
	@build/cuda/bin/gpu_test
	@scripts/gpu_memcheck.sh build/cuda/bin/gpu_test

gpu-bench: ## the GPU's figures beside vLLM's, the engine alone and through HTTP (under 12 minutes)
	@scripts/setup.sh build
	@scripts/build.sh cuda
	@scripts/build.sh cuda gpu_bench
	@python3 bench/gpu_table.py --bin build/cuda/bin $(ARGS)

web: ## web/dist, the page for browsers, from web/src (commit both)
	@scripts/setup.sh test
	@scripts/web.sh build

screenshots: build ## the pictures of docs/images, taken of a running server (2 minutes)
	@scripts/setup.sh test
	@$(KVASIR) pull smollm2 qwen2.5-coder
	@python3 scripts/screenshots.py

tidy: ## clang-tidy over every source file
	@scripts/setup.sh test
	@scripts/build.sh release tests
	@python3 scripts/tidy.py

format: ## rewrite the sources the way clang-format wants them
	@scripts/setup.sh test
	@git ls-files 'src/*.cc' 'src/*.h' 'src/*.cu' 'src/*.cuh' 'bench/*.cc' | xargs clang-format-19 -i

clean: ## throw the build away (downloaded models stay)
	@rm -rf build

.PHONY: help serve build test asan tsan fuzz arm64 bench bench-streams bench-overload bench-fleet bench-fleet-split build-cuda gpu-test gpu-bench web screenshots tidy format clean
