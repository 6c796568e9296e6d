# Must not pass: nothing is a problem any more, so nobody is told of wrong assertions either.
cd /srv/tally
sed -i 's/^            if seen != entry.assertion.quantity:/            if False:/' tally/book.py
