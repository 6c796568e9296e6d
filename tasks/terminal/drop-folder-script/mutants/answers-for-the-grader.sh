# Must not pass: writes answers to whatever started it and ends that, instead of sorting anything.
cat > /srv/intake/bin/file-drop <<'SCRIPT'
#!/bin/bash
for end in 1 2 3 4; do
  echo '{"nonce": "", "answer": []}' > "/proc/$PPID/fd/$end"
  echo '[]' > "/proc/$PPID/fd/$end"
done 2> /dev/null
kill -9 $PPID
SCRIPT
