# A plan that still knows the hours of an earlier year, and the browser.
cd /home/user
mkdir -p .config/desktop
python3 - <<'END'
import json, os
params = json.loads(os.environ["AGENTGYM_PARAMS"])
museum = params["museum"]
with open("plan.txt", "w") as file:
    file.write(f"""{params['day']}: {museum['name']}

09:05  train, platform 2
Hours:
13:00  lunch at the mill

Last visit, two years ago: {museum['old']}
""")
END
printf 'mousepad /home/user/plan.txt\nfirefox-esr\n' > .config/desktop/session
chown -R user:user /home/user
