"""``python -m trazar`` is the command ``trazar``."""

import sys

from trazar._command import main

sys.exit(main())
