# Must not pass: default goal, page list and styles are repaired; nothing learns about changed inputs.
cd /srv/handbook
sed -i '/^# a quick look/,/^$/d' Makefile
sed -i 's#^PAGES := .*#PAGES := $(sort $(shell find pages -name "*.md"))#; s#cat \$< > \$@#cat $^ > $@#' Makefile
sed -i 's#build/%#build/$(PROFILE)/%#; s#search.json: FORCE#search.json: $(FRAGMENTS)#; s#\$(sort \$(wildcard build/\*.frag))#$(FRAGMENTS)#' Makefile
sed -i 's#^\$(DIST)/SHA256SUMS: .*#$(DIST)/SHA256SUMS: $(HTML) $(DIST)/site.css $(DIST)/search.json#; s#sha256sum .* >#sha256sum $(patsubst $(DIST)/%,%,$^) >#' Makefile
make -s clean && make -s
