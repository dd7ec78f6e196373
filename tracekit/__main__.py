"""``python -m tracekit``."""

import sys

from tracekit.cli import main

sys.exit(main())
