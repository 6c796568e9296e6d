# Must not pass: instead of the Makefile, the tools are changed until everything is green.
cd /srv/handbook
sed -i 's/sys.exit(1 if dead or not count else 0)/sys.exit(0)/' tools/check.py
sed -i 's/^preview:/first:/; s/PROFILE=staging all/PROFILE=production all/' Makefile
sed -i 's/^check:/check: all/; s/| tee check.log//' Makefile
printf '.PHONY: check all first clean\n.DELETE_ON_ERROR:\n' >> Makefile
make -s
