# SPDX-License-Identifier: MIT
"""TileLang's kernels in this cache: `import tlcache.integrations.tilelang`, and that is all.

Before or after `import tilelang`. TileLang is not imported by it, nor the library loaded, until
there is a kernel to look up. `deactivate()` gives TileLang its own cache back.
"""

from ._tilelang import activate, deactivate, state

activate()

__all__ = ["activate", "deactivate", "state"]
