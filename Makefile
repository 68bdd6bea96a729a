# make demo | test | check | bench | venv; each makes its own .venv. ARGS= is handed on.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
OUT ?=
STAMP := .venv/.installed
# Tiers of tests that must run: REFLOAT_REQUIRE=kube,node. Without it they are skipped where the machine lacks what they need.
REFLOAT_REQUIRE ?=
comma := ,
REQUIRED := $(subst $(comma), ,$(REFLOAT_REQUIRE))
NODE ?= $(filter node,$(REQUIRED))

.PHONY: venv demo test check bench lint types contracts build spec spec-mutants spec-page kube-assets node-demo node-latency

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Refloat needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Set PYTHON=.")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[rules,executor,host,ctl,demo,dev]'
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/refloat demo $(ARGS)

test: $(STAMP) $(if $(filter kube node,$(REQUIRED)),kube-assets)
	$(BIN)/python -m pytest $(ARGS)

# The tests that hold the specification's sentences, and no others: ends with "N rows: H held, P later".
spec: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m testkit.specification tests $(ARGS)

# Breaks each sentence's rule in a copy of the tree; fails if its test stays green. ARGS="budgets" tries those alone.
spec-mutants: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m testkit.specification mutants $(ARGS)

# Writes docs/specification.md from tests/spec/rows.
spec-page: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m testkit.specification page

# etcd and kube-apiserver for the kube tests; with NODE=1 also kubelet, scheduler, controller manager, kubectl, and as root
# the Debian packages that the node tests need.
kube-assets:
	$(PYTHON) tests/kube_assets/build.py $(if $(NODE),--node)
	$(if $(NODE),$(PYTHON) tests/kube_assets/packages.py)

# On a real kubelet; need root. The first builds Kubernetes, which takes minutes.
node-demo node-latency: NODE := 1

node-demo: $(STAMP) kube-assets
	PYTHONPATH=tests $(BIN)/python -m node_tools.demo $(ARGS)

node-latency: $(STAMP) kube-assets
	PYTHONPATH=tests $(BIN)/python -m node_tools.latency $(if $(OUT),--out $(OUT)) $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports

build: $(STAMP)
	rm -rf dist && $(BIN)/python -m build --wheel --no-isolation --outdir dist . && $(BIN)/check-wheel-contents dist/*.whl

check: lint types contracts build test

bench: $(STAMP)
	$(BIN)/python -m tests.bench $(if $(OUT),--out $(OUT)) $(ARGS)
