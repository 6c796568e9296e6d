import sys

from hoist.cli import main

sys.exit(main(sys.argv[1:]))
