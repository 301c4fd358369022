# SPDX-License-Identifier: MIT
"""Turns on tlcache for the frameworks that TLC_INTEGRATIONS names, when they are imported.

A line in tlcache-autoload.pth runs `install` at the start of Python, if the variable is set, or
Triton's own that names a cache manager; without them this file is not even read. Nothing of tlcache is imported before a framework that is
named, and nothing that goes wrong here ends an import.
"""

import sys

VARIABLE = "TLC_INTEGRATIONS"
TRITON_VARIABLE = "TRITON_CACHE_MANAGER"


class Finder:
    """Notices the first import of a framework; finds nothing itself."""

    def __init__(self, names):
        self.names = set(names)
        self.busy = False

    def find_spec(self, name, path=None, target=None):
        """Called for each import of a module that is not loaded."""
        if name not in self.names or self.busy:
            return None
        self.names.discard(name)
        if not self.names:
            self.remove()
        self.busy = True
        try:
            from importlib.util import find_spec

            spec = find_spec(name)
        except (ImportError, ValueError):
            spec = None
        finally:
            self.busy = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            activate(name)
            return spec
        spec.loader = Loader(spec.loader, name)
        return spec

    def remove(self):
        """No import asks any more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class Loader:
    """Loads as the framework's own loader does, then turns the integration on."""

    def __init__(self, own, name):
        self._own = own
        self._name = name

    def create_module(self, spec):
        """As the framework's own loader."""
        return self._own.create_module(spec)

    def exec_module(self, module):
        """Leaves the module with its own loader, as if this one had never been there."""
        module.__loader__ = module.__spec__.loader = self._own
        self._own.exec_module(module)
        activate(self._name)

    def __getattr__(self, name):
        return getattr(self._own, name)


def activate(name):
    """Turns one on; says once why not."""
    try:
        from tlcache.integrations import activate as activate_integration

        activate_integration(name)
    except Exception as error:
        import warnings

        text = f"tlcache: {name} keeps its own cache: {type(error).__name__}: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def forgive():
    """Triton ends with an error where the cache manager that is named is not there; not with this.

    The variable is inherited by each process, also by one of a Python without tlcache, or after
    tlcache was uninstalled.
    """
    import os
    from importlib.util import find_spec

    if not os.environ.get(TRITON_VARIABLE, "").startswith("tlcache."):
        return
    try:
        there = find_spec("tlcache") is not None
    except (ImportError, ValueError):
        there = False
    if not there:
        import warnings

        value = os.environ.pop(TRITON_VARIABLE)
        text = f"{TRITON_VARIABLE} is {value}, and tlcache is not installed"
        text = f"tlcache: {text}; Triton keeps its own cache"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def install():
    """For each name in the variable: now, if the framework is there already, else at its import."""
    import os

    forgive()
    names = [name.strip() for name in os.environ.get(VARIABLE, "").split(",")]
    names = [name for name in names if name]
    for name in names:
        if name in sys.modules:
            activate(name)
    later = [name for name in names if name not in sys.modules]
    if later and not any(isinstance(one, Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, Finder(later))
