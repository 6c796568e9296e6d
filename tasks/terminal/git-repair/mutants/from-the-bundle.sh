# Must not pass: clones the old bundle into place; everything since February is gone.
cd /srv
git clone -q -b main backup/inventory-2026-02-24.bundle fresh
rm -rf inventory/.git
mv fresh/.git inventory/.git
