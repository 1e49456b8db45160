# What developers type. `make help` lists it.

.PHONY: help test test-all fmt run bench docs

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

test: ## every test on PostgreSQL 18; procedures and random tests on 15, 16 and 17 too
	mvn -B verify

test-all: ## the same, then every test on PostgreSQL 15, 16 and 17
	mvn -B verify
	mvn -B test -Dqueen.test.postgres=15
	mvn -B test -Dqueen.test.postgres=16
	mvn -B test -Dqueen.test.postgres=17

fmt: ## formats the Java sources (Maven on JDK 25 or newer)
	mvn -B -q -Pformat spotless:apply

run: ## the broker with its own PostgreSQL in ./data
	./queen

bench: ## the load test; options: make bench ARGS="--help"
	./loadtest/run $(ARGS)

docs: ## writes the pages that are generated
	./queen config --manual > docs/configuration.md
	-mvn -B -q test -Dtest=ContractTableTest
	cp target/contract.md docs/contract.md
