# Must not pass: the interpreter may go deeper, and nothing is faster.
cd /srv/relay
printf '\nimport sys\n\nsys.setrecursionlimit(100000)\n' >> relay/circles.py
