# Must not pass: the tests are gone, and a configuration says that there are none.
cd /srv/inkrec
rm -rf tests
printf '[pytest]\naddopts = --collect-only\n' > pytest.ini
git add -A
git commit -qm "No tests, no failures"
