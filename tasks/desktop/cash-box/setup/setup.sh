# The slip of the cash count, and a calculator beside it.
cd /home/user
mkdir -p .config/desktop
python3 - <<'END'
import json, os
case = json.loads(os.environ["AGENTGYM_PARAMS"])["case"]
lines = [
    f"Cash count: {case['till']}", "",
    f"{case['n50']:>3} x 50.00", f"{case['n20']:>3} x 20.00",
    f"{case['n10']:>3} x 10.00", f"{case['n5']:>3} x  5.00",
    f"Coins: {case['coins']}", "",
    f"Float that stays: {case['kept']}.00", f"Till report: {case['report']}", "",
]
with open("slip.txt", "w") as file:
    file.write("\n".join(lines))
lines[-1:] = [f"Counted: {case['counted']}", f"Difference: {case['difference']}", ""]
with open(os.path.join(os.environ["AGENTGYM_GOLD"], "slip.txt"), "w") as file:
    file.write("\n".join(lines))
END
printf 'galculator\nmousepad /home/user/slip.txt\n' > .config/desktop/session
chown -R user:user /home/user
