import sys

from gauge.report import main

sys.exit(main(sys.argv[1:]))
