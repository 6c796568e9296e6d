# Must not pass: a recipe that throws everything away and builds it again is right and is not a Makefile.
cat > /srv/handbook/Makefile <<'MAKEFILE'
PROFILE ?= production
DIST := dist/$(PROFILE)
PAGES := $(sort $(shell find pages -name '*.md'))
all: site
site:
	rm -rf $(DIST) build/$(PROFILE)
	set -e; for page in $(PAGES:pages/%.md=%); do \
	  mkdir -p $$(dirname build/$(PROFILE)/$$page) $$(dirname $(DIST)/$$page); \
	  python3 tools/fragment.py config/$(PROFILE).ini pages/$$page.md > build/$(PROFILE)/$$page.frag; \
	  python3 tools/page.py VERSION partials build/$(PROFILE)/$$page.frag > $(DIST)/$$page.html; \
	done
	cat styles/*.css > $(DIST)/site.css
	python3 tools/search.py $(PAGES:pages/%.md=build/$(PROFILE)/%.frag) > $(DIST)/search.json
	cd $(DIST) && sha256sum $(PAGES:pages/%.md=%.html) site.css search.json > SHA256SUMS
dist/production/SHA256SUMS: site
check: all
	python3 tools/check.py $(DIST)
clean:
	rm -rf build dist check.log
.PHONY: all site check clean
MAKEFILE
cd /srv/handbook && make -s
