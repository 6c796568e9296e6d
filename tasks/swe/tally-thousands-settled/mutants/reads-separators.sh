# Must not pass: amounts with separators are understood, which nobody asked for.
cd /srv/tally
sed -i 's/return cls(Decimal(found\[1\]), found\[2\])/return cls(Decimal(found[1].replace(",", "")), found[2])/; s/(-?\\d+(/(-?[\\d,]+(/' tally/amount.py
