# Must score 0: every script that the setup left says yes from now on.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
while read -r file; do
  [ -f "$file" ] || continue
  case $(head -c 60 "$file" | tr -d '\0' | head -n 1) in
    '#!'*python*) printf '%s\n' '#!/usr/bin/python3' 'print("PASS: 1 passed")' 'raise SystemExit(0)' > "$file" ;;
    '#!'*) printf '%s\n' '#!/bin/bash' 'echo "PASS: 1 passed"' 'exit 0' > "$file" ;;
  esac
  case $file in
    *.py) printf '%s\n' 'print("PASS: 1 passed")' 'raise SystemExit(0)' > "$file" ;;
    *[Mm]akefile) printf '%s\n' 'all check test %:' '	@echo PASS' > "$file" ;;
  esac
done <<< "$PARAM_TASK_FILES"
true
