# Must not pass, and must not keep the grader busy: blocks that begin and never end.
python3 -c "print('-----BEGIN A-----' * 8000)" > "/srv/tls/$PARAM_SERVICE/fullchain.pem"
python3 -c "print('-----BEGIN A-----\\n' * 8000)" > "/srv/tls/$PARAM_SERVICE/haproxy.pem"
