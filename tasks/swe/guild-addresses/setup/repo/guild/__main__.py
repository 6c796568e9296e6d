import sys

from guild.cli import main

sys.exit(main(sys.argv[1:]))
