# The lease, open in the viewer, beside the lease of a neighbour with other numbers.
mkdir -p /home/user/.config/desktop /home/user/Leases
cd /home/user/Leases
number=$(python3 -c 'import json, os; print(json.loads(os.environ["AGENTGYM_PARAMS"])["lease"]["number"])')
told=$(python3 -c 'import json, os; print(json.dumps(json.loads(os.environ["AGENTGYM_PARAMS"])["lease"]))')
python3 "$AGENTGYM_SETUP/lease.py" "$number.pdf" "$told"
python3 "$AGENTGYM_SETUP/lease.py" W-2022-07.pdf '{"number": "W-2022-07", "tenant": "Hollis Print Ltd",
  "rent": "1,960", "deposit": "5,880", "bank": "Norbank", "notice": 6, "amended": 0}'
echo "atril /home/user/Leases/$number.pdf" > /home/user/.config/desktop/session
chown -R user:user /home/user
