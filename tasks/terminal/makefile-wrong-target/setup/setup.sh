#!/bin/bash
# Install the handbook's checkout, with a production site that was built before the last two changes.
set -eu
umask 022
home=/srv/handbook
cp -r --no-preserve=mode,timestamps "$AGENTGYM_SETUP/handbook" $home
cd $home
/usr/bin/python3 "$AGENTGYM_SETUP/make_pages.py" pages
printf '2026.3\n' > VERSION
# Left by somebody who wanted to keep the output of a build.
printf 'make: Nothing to be done for %s.\n' "'all'" > check
make -s PROFILE=production all > /dev/null
printf '2026.4\n' > VERSION
sed -i 's/Ask the people team/Ask the people team first/' partials/footer.html
/usr/bin/python3 "$AGENTGYM_SETUP/expected.py"
find . -exec touch -d '2026-02-02 09:00 UTC' {} +
find build dist -exec touch -d '2026-05-18 15:20 UTC' {} +
touch -d '2026-06-01 08:10 UTC' VERSION partials/footer.html
