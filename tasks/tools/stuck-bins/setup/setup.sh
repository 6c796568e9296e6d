#!/bin/bash
set -euo pipefail
umask 022
mkdir -p /srv/vaultdrive/purge
cd /srv/vaultdrive
cat > NOTES.txt <<'EOF'
The purge runs at 01:00 UTC and retries at 03:00 whatever failed. Each file is named after the day on which the run begins.
Each line: time, account, result. "done freed_gb=N": the bin is empty. "failed stuck_gb=N": N GB are still in the bin.
The last line of an account is the one that counts. Accounts that deleted nothing are not in that night's file.
A company may have several accounts.
EOF
cat > accounts.csv <<'EOF'
account,company
vd-1041,Kestrel Aviation Parts
vd-1107,Delta Freight
vd-1123,Granite Construction Partners
vd-1130,Lakeshore Credit Union
vd-1158,Bluewater Logistics
vd-1166,Meridian Travel
vd-1174,Quarry Street Studio
vd-1188,Kestrel Aviation Parts
vd-1190,Vantage Fitness
EOF
cat > purge/2026-02-28.log <<'EOF'
01:02:11 vd-1041 failed stuck_gb=55.0
01:02:40 vd-1107 failed stuck_gb=23.5
01:03:02 vd-1123 done freed_gb=4.1
01:03:30 vd-1158 done freed_gb=9.9
01:04:12 vd-1190 done freed_gb=2.0
03:00:09 vd-1041 failed stuck_gb=55.0
03:00:31 vd-1107 failed stuck_gb=23.5
EOF
cat > purge/2026-03-01.log <<'EOF'
01:01:58 vd-1041 failed stuck_gb=58.2
01:02:31 vd-1107 failed stuck_gb=24.0
01:03:15 vd-1130 failed stuck_gb=37.3
01:03:44 vd-1166 done freed_gb=0.6
01:04:02 vd-1188 done freed_gb=3.3
03:00:05 vd-1041 failed stuck_gb=58.2
03:00:33 vd-1107 done freed_gb=24.0
03:00:58 vd-1130 failed stuck_gb=37.3
EOF
cat > purge/2026-03-02.log <<'EOF'
01:02:17 vd-1123 failed stuck_gb=18.8
01:02:59 vd-1130 failed stuck_gb=41.7
01:03:27 vd-1158 failed stuck_gb=12.4
01:03:51 vd-1174 done freed_gb=1.1
01:04:20 vd-1188 done freed_gb=0.4
03:00:12 vd-1123 done freed_gb=18.8
03:00:39 vd-1130 failed stuck_gb=41.9
03:01:04 vd-1158 failed stuck_gb=12.4
EOF
