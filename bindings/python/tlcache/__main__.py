# SPDX-License-Identifier: MIT
"""`python -m tlcache` is the `tlcache` command."""

import sys

from ._command import main

sys.exit(main())
