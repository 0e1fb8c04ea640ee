# Every target sets up what it needs. `make help` lists them.

PYTHON ?= $(or $(shell command -v python3.11),$(shell command -v python3),python3.11)
VENV := .venv
RUN := $(VENV)/bin/python -m
STAMPS := $(VENV)/stamps
PEERS := .venv-peers
EXPORTS := .venv-exports
VLLM := .venv-vllm
PLACE := import sysconfig; print(sysconfig.get_path('purelib'))
TYPED := $(wildcard rauq analysis serve pages app.py training benchmarks rauq-vllm/rauq_vllm)
# Browser tests wait about as long as they compute: three workers keep two cores busy.
WORKERS ?= 3
PYTHONS ?= $(PYTHON)

# pip must not report newer versions of itself, nor stop to ask.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup app host smollm2 test test-exports quantised wheel wheel-check image-check host-check robustness check check-js weight format bench bench-coverage bench-suite bench-mutants bench-engines bench-written bench-faithbench bench-marked bench-serve bench-visitors bench-workers bench-online bench-peers vllm atlas chromium clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMPS)/runtime $(STAMPS)/dev ## Virtual environment and pinned packages

# Every run of a page is a thread. With one glibc arena per thread, up to 180 MiB of freed memory would not be reused, so
# there are two arenas. Waiting threads of torch sleep, on Linux after 1,000 turns: by default they spin for 300,000, and
# on a busy machine smollm2 then takes three times as long; if they sleep at once, a batch on a quiet one takes a fourth
# more.
app: $(STAMPS)/runtime ## Open the app on http://127.0.0.1:8501
	@$(RUN) rauq models get smollm2 || echo "make: without smollm2, the app starts with its embedded model"
	MALLOC_ARENA_MAX=2 OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=1000 $(RUN) streamlit run app.py

host: export RAUQ_MODELS ?= smollm2,atlas
host: $(STAMPS)/runtime ## Open the app to strangers: make host NAMES=rauq.example.org
	@$(RUN) rauq models get smollm2 || echo "make: smollm2 cannot be offered"
	MALLOC_ARENA_MAX=2 OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=1000 $(RUN) pages.ui.host.server --names "$(NAMES)" $(OPTIONS)

# Bytecode is kept even if the environment disables it: every worker, server and job would compile everything again.
# The real model is kept here too, so that no test depends on the user's files.
test: export RAUQ_CACHE := $(or $(RAUQ_CACHE),$(CURDIR)/$(VENV)/cache)
test: setup chromium smollm2 ## Run every test
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(RUN) pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

test-exports: setup $(EXPORTS)/stamp ## Read exports back by inspect_ai, W&B and MLflow, in a separate environment
	OMP_NUM_THREADS=1 $(EXPORTS)/bin/python -m pytest tests/analysis/report/export_clients.py

# Beside the environment, not in it: where torchao is installed, transformers imports it every time, for seconds.
quantised: setup ## Test quantised models, with packages that nothing else needs
	@$(RUN) pip install --quiet --no-deps --target $(VENV)/quantised --upgrade --requirement requirements-quantization.txt
	PYTHONPATH=$(VENV)/quantised OMP_NUM_THREADS=1 $(RUN) pytest tests/rauq/model/quantised.py

wheel: setup ## Build the package for pip, in dist
	$(RUN) build --no-isolation

wheel-check: setup ## Install the wheel into empty environments and run it: make wheel-check PYTHONS="python3.12 python3.13"
	.ci/wheel_check $(PYTHONS)

image-check: wheel ## Follow deploy/Dockerfile in a Debian root, as root: make image-check MOUNTS="FOLDER ..."
	$(VENV)/bin/python .ci/image_check.py $(MOUNTS)

host-check: setup ## A host behind the real nginx, with the configuration that it prints
	@sh .ci/nginx
	$(RUN) pytest -n0 tests/robustness/hosted/host_check.py

robustness: setup chromium smollm2 ## All robustness tests: laws, malformed inputs, hostile text and clients, faults, load
	$(RUN) benchmarks properties fuzz safety faults load bombs hostile flood visitors ray --record

check: setup ## Formatting, lint, types, imports
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) mypy $(TYPED)
	$(VENV)/bin/lint-imports --no-cache --no-logo

check-js: ## Undeclared and unused names in the scripts of the pages, and wrong arguments; needs npm
	@command -v npx >/dev/null || { echo "make: check-js needs npm. Install it (Debian: apt-get install npm), then run make check-js again." >&2; exit 1; }
	npx --yes --package typescript@6.0.3 tsc --project jsconfig.json

weight: setup ## Count the product's modules and lines of code
	$(VENV)/bin/python .ci/weight.py

format: setup ## Format, and fix what lint can fix
	$(RUN) ruff format .
	$(RUN) ruff check --fix .

bench: setup chromium smollm2 ## Run all measurements and keep the results
	$(RUN) benchmarks --record
	$(RUN) benchmarks million --record

bench-coverage: setup ## Simulate what the app says of intervals and claims; takes long
	$(RUN) benchmarks coverage --record

bench-mutants: export RAUQ_CACHE := $(or $(RAUQ_CACHE),$(CURDIR)/$(VENV)/cache)
bench-mutants: setup smollm2 ## Break sixty lines of the library by chance, and see what the tests notice; takes half an hour
	$(RUN) benchmarks mutants --record

bench-suite: setup ## Where the time of the tests goes
	$(RUN) benchmarks suite --record

bench-engines: setup smollm2 ## Compare llama.cpp with transformers; writes 5 GB for large models, and takes half an hour
	$(RUN) benchmarks engines engine_shapes --record

bench-written: setup ## Compare what finds errors in written answers and lists, and when a share holds; takes an hour, and both packaged models
	$(RUN) benchmarks written lists likeness documents --record

bench-faithbench: export RAUQ_FAITHBENCH := $(RAUQ_FAITHBENCH)
bench-faithbench: setup smollm2 ## Read FaithBench, which you have to get: make bench-faithbench RAUQ_FAITHBENCH=FOLDER
	$(RUN) benchmarks faithbench --record

bench-marked: export RAUQ_MARKED := $(RAUQ_MARKED)
bench-marked: setup smollm2 ## Read sets that people marked, of which you have copies: make bench-marked RAUQ_MARKED=FOLDER
	$(RUN) benchmarks marked worth --record

bench-serve: setup smollm2 ## Compare the endpoint with the library alone, and beside hostile clients; takes an hour
	$(RUN) benchmarks serve serve_load --record

bench-visitors: setup smollm2 ## Let visitors come to a host, wait and leave for an hour
	$(RUN) benchmarks visitors_hour --record

bench-workers: setup smollm2 ## Several processes of a host behind the real nginx, and misuse of a host
	@sh .ci/nginx
	$(RUN) benchmarks misuse workers --record

bench-online: setup ## Measure scores and alarms while an answer is written; takes half an hour, and a packaged model
	$(RUN) benchmarks online alarms survival --record

bench-peers: setup chromium $(PEERS)/stamp ## Compare with lm-polygraph, plain transformers and BertViz, in a separate environment
	$(RUN) benchmarks peers_agreement peers_time peers_memory payload --record

vllm: setup smollm2 $(VLLM)/stamp ## Compare attention out of a real vLLM server with this project's own, in a separate environment; takes both packaged models
	$(RUN) benchmarks vllm vllm_models vllm_cost vllm_load --record

atlas: $(STAMPS)/training ## Rebuild the embedded model: corpus, tokenizer, weights, evaluation
	$(RUN) training all

chromium: ## Install Chromium for the browser tests, if missing
	@sh .ci/chromium

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) $(PEERS) $(EXPORTS) $(VLLM) .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(STAMPS)/venv:
	@sh .ci/venv $(PYTHON) $(VENV)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/runtime: requirements.txt $(STAMPS)/venv
	@echo "make: installing $< (the first time takes minutes)"
	@$(RUN) pip install --quiet --requirement $<
	@touch $@

$(STAMPS)/dev: requirements-dev.txt requirements-extra.txt training/requirements.txt $(STAMPS)/runtime
	@echo "make: installing $< (the first time takes minutes)"
	@$(RUN) pip install --quiet --requirement $<
	@touch $@

$(STAMPS)/training: training/requirements.txt $(STAMPS)/runtime
	@echo "make: installing $< (the first time takes minutes)"
	@$(RUN) pip install --quiet --requirement $<
	@touch $@

# The real model that the app offers first, and that tests need which random weights would pass trivially.
smollm2: $(STAMPS)/runtime ## Get the model SmolLM2-135M-Instruct (98 MB), if missing
	@$(RUN) rauq models get smollm2

$(PEERS)/stamp: benchmarks/peers/requirements.txt benchmarks/peers/tools.txt
	@sh .ci/venv $(PYTHON) $(PEERS)
	@echo "make: installing $^ (takes minutes)"
	@$(PEERS)/bin/python -m pip install --quiet --requirement benchmarks/peers/requirements.txt
	@$(PEERS)/bin/python -m pip install --quiet --no-deps --requirement benchmarks/peers/tools.txt
	@touch $@

# vLLM needs an older transformers than this project. Texts need no torchvision, and pip may take one for another torch.
$(VLLM)/stamp: benchmarks/vllm/requirements.txt rauq-vllm/pyproject.toml
	@sh .ci/venv $(PYTHON) $(VLLM)
	@echo "make: installing $< (takes minutes)"
	@$(VLLM)/bin/python -m pip install --quiet --requirement $<
	@$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@$(VLLM)/bin/python -m pip install --quiet --editable rauq-vllm
	@touch $@

# The clients need other versions of shared packages than the project pins: the rest comes from the project's environment.
$(EXPORTS)/stamp: requirements-exports.txt $(STAMPS)/venv
	@sh .ci/venv $(PYTHON) $(EXPORTS)
	@echo "make: installing $< (takes minutes)"
	@$(EXPORTS)/bin/python -m pip install --quiet --requirement $<
	@$(VENV)/bin/python -c "$(PLACE)" > "$$($(EXPORTS)/bin/python -c "$(PLACE)")/project.pth"
	@touch $@
