# SPDX-License-Identifier: MIT
Known = tuple[int, int, dict[str, str]]

def cache() -> int: ...
def files(
    namespace: str, key: str, file: str | None, folder: str, known: Known | None, /
) -> Known | None: ...
