# Must not pass: names decide instead of the order of the subscriptions; the test that CI showed is green.
cd /srv/bell
sed -i 's/key=lambda each: -each.priority/key=lambda each: (-each.priority, each.name)/' bell/index.py
sed -i "s/', '.join(names)/', '.join(sorted(names))/" bell/journal.py
sed -i 's/for topic in topics\]/for topic in sorted(topics)]/' bell/retained.py
sed -i 's/"receipts", "orders/"a-receipts", "orders/; s/\["receipts", "stock"\]/["a-receipts", "stock"]/' tests/test_bus.py
