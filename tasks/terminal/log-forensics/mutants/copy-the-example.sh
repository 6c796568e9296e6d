# Must not pass: the instruction's own example, well formed and about nobody.
cat > /root/incident.json <<'JSON'
{"attacking_addresses": ["192.0.2.1", "192.0.2.2"],
 "taken_over": [{"account": "jane.doe", "address": "192.0.2.1", "first_session": "2026-01-31T23:59:59Z", "exported_bytes": 123456}]}
JSON
