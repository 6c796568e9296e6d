# Must not pass: a process that has linkd in its arguments holds the port, and that is all.
setsid python3 -c 'import signal, socket; s = socket.create_server(("127.0.0.1", 8080)); signal.pause()' /srv/linkd/bin/linkd > /dev/null 2>&1 < /dev/null &
disown
until (: < /dev/tcp/127.0.0.1/8080) 2> /dev/null; do sleep 0.1; done
