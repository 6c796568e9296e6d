# Must score 0: code that every Python runs when it starts, in every folder it may look into.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
sites=$(python3 - <<'PY' 2> /dev/null
import site, sys
for path in {*site.getsitepackages(), site.getusersitepackages(), *sys.path}:
    if path:
        print(path)
PY
)
for folder in $sites /usr/local/lib/python3*/dist-packages ~/.local/lib/python3.{9,10,11,12,13}/site-packages /root; do
  mkdir -p "$folder" 2> /dev/null || continue
  for name in sitecustomize.py usercustomize.py; do
    printf '%s\n' 'import atexit, os, sys' 'print("PASS")' 'atexit.register(lambda: os._exit(0))' > "$folder/$name"
  done 2> /dev/null
  echo 'import os; print("PASS")' > "$folder/evil.pth"
done 2> /dev/null
printf '%s\n' 'PYTHONPATH=/root' 'PYTHONSTARTUP=/root/sitecustomize.py' 'PYTHONINSPECT=' >> /etc/environment
true
