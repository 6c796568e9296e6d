# Must not pass, and must not keep the grader busy: tables of many megabytes.
mkdir -p /srv/clean
for name in orders rejected totals; do yes a | head -c 66000000 > /srv/clean/$name.csv; done
