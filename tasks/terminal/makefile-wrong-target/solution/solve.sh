cat > /srv/handbook/Makefile <<'MAKEFILE'
# Staff handbook
#
#   make                    the production site, in dist/production
#   make PROFILE=staging    the staging site, in dist/staging
#   make check              build the site, then look for dead links
#   make clean

PROFILE ?= production
PYTHON := /usr/bin/python3 -IS

BUILD := build/$(PROFILE)
DIST := dist/$(PROFILE)
CONFIG := config/$(PROFILE).ini

PAGES := $(sort $(shell find pages -name '*.md'))
STYLES := $(sort $(wildcard styles/*.css))
PARTIALS := $(wildcard partials/*.html)
FRAGMENTS := $(PAGES:pages/%.md=$(BUILD)/%.frag)
HTML := $(PAGES:pages/%.md=$(DIST)/%.html)
SITE := $(HTML) $(DIST)/site.css $(DIST)/search.json

all: $(SITE) $(DIST)/SHA256SUMS

# a quick look at what the writers are doing (ines, may)
preview:
	$(MAKE) PROFILE=staging all

$(BUILD)/%.frag: pages/%.md $(CONFIG) tools/fragment.py
	@mkdir -p $(@D)
	$(PYTHON) tools/fragment.py $(CONFIG) $< > $@

$(DIST)/%.html: $(BUILD)/%.frag $(PARTIALS) VERSION tools/page.py
	@mkdir -p $(@D)
	$(PYTHON) tools/page.py VERSION partials $< > $@

$(DIST)/site.css: $(STYLES)
	@mkdir -p $(@D)
	cat $^ > $@

$(DIST)/search.json: $(FRAGMENTS) tools/search.py
	@mkdir -p $(@D)
	$(PYTHON) tools/search.py $(FRAGMENTS) > $@

$(DIST)/SHA256SUMS: $(SITE)
	cd $(DIST) && sha256sum $(SITE:$(DIST)/%=%) > SHA256SUMS

check: all
	$(PYTHON) tools/check.py $(DIST)

clean:
	rm -rf build dist check.log

# do not throw the fragments away, the preview server reads them
.SECONDARY: $(FRAGMENTS)
.PHONY: all preview check clean
.DELETE_ON_ERROR:
MAKEFILE
cd /srv/handbook
make -s clean
make -s
