# SPDX-License-Identifier: MIT
"""Which integrations there are, what of them is installed, which are on."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

#: Names of integrations, comma-separated, that the wheel tlcache-autoload turns on.
VARIABLE = "TLC_INTEGRATIONS"


@dataclass(frozen=True)
class Integration:
    """One framework.

    Attributes:
        name: of the integration.
        package: the distribution that the framework is installed from.
        framework: the framework's module.
        module: the module of ours that serves it.
        activation: how a user turns it on, as text for people.
    """

    name: str
    package: str
    framework: str
    module: str
    activation: str

    def version(self) -> str | None:
        """The installed version of the framework, without importing it; None: not installed."""
        import importlib.util
        from importlib import metadata

        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            pass
        try:
            found = importlib.util.find_spec(self.framework) is not None
        except (ImportError, ValueError):
            found = False
        return "unknown" if found else None


#: All of them, by name.
INTEGRATIONS: dict[str, Integration] = {
    one.name: one
    for one in (
        Integration(
            name="tilelang",
            package="tilelang",
            framework="tilelang",
            # The module that users import turns it on by that.
            module="tlcache.integrations._tilelang",
            activation="import tlcache.integrations.tilelang",
        ),
        Integration(
            name="triton",
            package="triton",
            framework="triton",
            module="tlcache.integrations.triton",
            activation="TRITON_CACHE_MANAGER=tlcache.integrations.triton:TLCacheManager",
        ),
    )
}


@dataclass(frozen=True)
class Status:
    """What there is to say of one integration, in this process and environment."""

    name: str
    package: str
    version: str | None
    active: bool
    reason: str
    activation: str


def wanted() -> list[str]:
    """The names in TLC_INTEGRATIONS, in their order."""
    names = (part.strip() for part in os.environ.get(VARIABLE, "").split(","))
    return [name for name in names if name]


def activate(name: str) -> None:
    """Turns an integration on in this process. Raises LookupError for a name that is none."""
    if name not in INTEGRATIONS:
        raise LookupError(
            f"there is no integration {name!r}; there are {', '.join(sorted(INTEGRATIONS))}"
        )
    importlib.import_module(INTEGRATIONS[name].module).activate()


def _state(one: Integration) -> tuple[bool, str]:
    """As the integration says; or that it will be on when the framework is imported."""
    loads = one.name in wanted() and _autoload_version() is not None
    try:
        active, reason = importlib.import_module(one.module).state()
    except Exception as error:
        return False, f"{one.module} does not work: {type(error).__name__}: {error}"
    if not active and loads and one.framework not in sys.modules:
        return True, f"{VARIABLE} names it: it is turned on when {one.framework} is imported"
    return bool(active), str(reason)


def status() -> list[Status]:
    """All integrations: what is installed, which are on, and why the others are not."""
    rows = []
    for one in INTEGRATIONS.values():
        version = one.version()
        if version is None:
            active, reason = False, f"{one.package} is not installed"
        else:
            active, reason = _state(one)
        rows.append(Status(one.name, one.package, version, active, reason, one.activation))
    return rows


def report() -> dict[str, Any]:
    """As `status`, and what TLC_INTEGRATIONS names; plain values, for JSON."""
    names = wanted()
    return {
        "variable": names,
        "unknown": [name for name in names if name not in INTEGRATIONS],
        "autoload": _autoload_version(),
        "integrations": [asdict(row) for row in status()],
    }


def _autoload_version() -> str | None:
    """The installed version of the wheel that reads TLC_INTEGRATIONS."""
    from importlib import metadata

    try:
        return metadata.version("tlcache-autoload")
    except metadata.PackageNotFoundError:
        return None


__all__ = ["INTEGRATIONS", "VARIABLE", "Integration", "Status", "activate", "report", "status"]
