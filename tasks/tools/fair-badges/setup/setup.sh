#!/bin/bash
set -euo pipefail
umask 022
mkdir -p /srv/fair
cat > /srv/fair/README <<'EOF'
One line per scan, one scanner after the other, so not in order of time (UTC).
agreed: yes means we may keep name and address, no means we may not.
People who were scanned more than once were asked each time: the latest scan counts, for all columns.
Addresses were typed by hand at the entrance, so upper and lower case mean nothing.
EOF
cat > /srv/fair/badges.csv <<'EOF'
scanned_at,name,company,role,email,agreed,wants_offer
2026-02-25T09:12:00Z,Ida Sorel,Norvik Foods,Buyer,ida.sorel@norvikfoods.example,yes,no
2026-02-25T09:40:00Z,Leila Costa,Meridian Travel,Office manager,leila.costa@meridiantravel.example,yes,no
2026-02-25T10:05:00Z,Bogdan Pike,Osprey Tools,Managing director,b.pike@ospreytools.example,yes,yes
2026-02-25T11:31:00Z,Paul Rennick,Osprey Tools,Warehouse lead,p.rennick@ospreytools.example,no,yes
2026-02-26T08:55:00Z,Hiro Tanabe,Fairlead Software,Support,Hiro.Lindholm@fairlead.example,yes,no
2026-02-26T14:20:00Z,Ida Sorel,Norvik Foods,Head of purchasing,Ida.Sorel@norvikfoods.example,yes,no
2026-02-26T15:02:00Z,Anna Wrona,Halden Rail,Planner,anna.wrona@haldenrail.example,yes,yes
2026-02-26T15:45:00Z,Anna Wrona,Halden Rail,Planner,anna.wrona@haldenrail.example,yes,yes
2026-02-25T12:10:00Z,Tom Achterberg,Deltaplan,IT lead,tom@deltaplan.example,no,no
2026-02-25T16:48:00Z,Tom Achterberg,Deltaplan,IT lead,tom@deltaplan.example,yes,yes
2026-02-26T09:30:00Z,P. Haugen,Redwood Insurance,Head of IT,priya.haugen@redwoodins.example,yes,yes
2026-02-26T10:15:00Z,Bogdan Pike,Osprey Tools,Managing director,B.Pike@ospreytools.example,no,yes
2026-02-26T11:00:00Z,Rosa Vogel,Ironbridge Engineering,Planner,rosa.vogel@ironbridge.example,no,yes
EOF
