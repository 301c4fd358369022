# SPDX-License-Identifier: MIT
"""Reads the public headers (include/tlcache/*.h) into plain data: functions, structs, callbacks, opaque types, constants.

Not a C parser: it knows the one style these headers are written in, and refuses, with file:line, what it does not know or
what foreign-function interfaces cannot call (varargs, bool, long, bit-fields, enum types). Standard library only.
"""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "tlcache"
HEADERS = ["version.h", "tlcache.h", "backend.h", "remote.h"]

BANNED = re.compile(r"\b(bool|_Bool|long|short|wchar_t|off_t|time_t|FILE|jmp_buf|va_list|enum)\b|\.\.\.")


class HeaderError(Exception):
    """A declaration that the reader does not know or that the ABI rules forbid."""


def blank_comments(text):
    """Comments become spaces, so that offsets and lines stay."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def one_space(text):
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s*\*\s*", "* ", text).replace("* *", "**")
    text = re.sub(r"\(\s+|\s+(?=[),])", lambda m: m.group().strip(), text)
    return text.strip()


def split_top(text, separator=","):
    """Splits at the separator outside parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "({[") - (c in ")}]")
        if c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def declarator(text):
    """'const char* name', 'char name[8]' or 'void (*name)(void*)' -> (name, type)."""
    text = one_space(text)
    pointer = re.fullmatch(r"(.+?)\s*\(\*\s*(\w+)\)\s*\((.*)\)", text)
    if pointer:
        result, name, params = pointer.groups()
        return name, f"{result.strip()} (*)({params})"
    plain = re.fullmatch(r"(.+?[\s*])(\w+)(\[\w+\])?", text)
    if not plain:
        raise HeaderError(f"cannot read '{text}'")
    return plain.group(2), plain.group(1).strip() + (plain.group(3) or "")


def params_of(text):
    text = one_space(text)
    if text in ("", "void"):
        return []
    return [dict(zip(("name", "type"), declarator(p))) for p in split_top(text)]


class Api:
    """All that the headers declare, in their order."""

    def __init__(self):
        self.functions, self.structs, self.callbacks, self.opaque, self.constants = [], [], [], [], []

    def read(self, path):
        raw = path.read_text()
        text = blank_comments(raw)
        # What only C++ sees (extern "C") declares nothing.
        text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif", lambda m: re.sub(r"[^\n]", " ", m.group()), text,
                      flags=re.S | re.M)
        for m in re.finditer(r"^#define (TLC_\w+)(\(?)[ \t]*([^\n]*)$", text, flags=re.M):
            name, arguments, body = m.group(1), m.group(2), m.group(3).strip()
            is_function = arguments and text[m.start(2) - 1] != " "
            if name == "TLC_API" or is_function or body.startswith('"') or not body:
                continue
            self.constants.append({"name": name, "header": path.name})
        text = re.sub(r"^#[^\n]*(?:\\\n[^\n]*)*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.M)
        position = 0
        for statement, start in self.statements(text):
            line = text.count("\n", 0, start) + 1
            banned = BANNED.search(re.sub(r"^enum\b", "", statement))
            try:
                if banned:
                    raise HeaderError(f"'{banned.group()}' is not for a public header (docs/abi.md)")
                since = re.findall(r"@since (\d+\.\d+)", raw[position:start])
                self.declare(statement, path.name, since[-1] if since else "0.1")
            except HeaderError as error:
                raise HeaderError(f"{path.relative_to(ROOT)}:{line}: {error}") from None
            position = start

    @staticmethod
    def statements(text):
        depth, start = 0, None
        for i, c in enumerate(text):
            if start is None:
                if c.isspace():
                    continue
                start = i
            depth += (c == "{") - (c == "}")
            if c == ";" and depth == 0:
                yield text[start:i].strip(), start
                start = None

    def declare(self, s, header, since):
        flat = one_space(s)
        if (m := re.fullmatch(r"enum \{(.*)\}", flat)):
            for item in split_top(m.group(1)):
                name = re.fullmatch(r"(TLC_\w+) = (.+)", item)
                if not name:
                    raise HeaderError(f"constant without a value of its own: '{item}'")
                self.constants.append({"name": name.group(1), "header": header})
        elif (m := re.fullmatch(r"typedef struct (\w+) \{(.*)\} \1", flat)):
            members = [dict(zip(("name", "type"), declarator(p))) for p in split_top(m.group(2), ";")]
            self.structs.append({"name": m.group(1), "header": header, "members": members})
        elif (m := re.fullmatch(r"typedef struct (\w+) \1", flat)):
            self.opaque.append(m.group(1))
        elif (m := re.fullmatch(r"typedef (.+?)\s*\(\*\s*(\w+)\)\s*\((.*)\)", flat)):
            self.callbacks.append({"name": m.group(2), "returns": m.group(1).strip(), "params": params_of(m.group(3))})
        elif (m := re.fullmatch(r"TLC_API (.+?[\s*])(tlc_\w+)\((.*)\)", flat)):
            self.functions.append({"name": m.group(2), "returns": m.group(1).strip(), "params": params_of(m.group(3)),
                                   "header": header, "since": since})
        elif not re.fullmatch(r"typedef int32_t tlc_status", flat):
            raise HeaderError(f"cannot read this declaration: '{flat[:60]}'")


def read_all():
    api = Api()
    for name in HEADERS:
        api.read(INCLUDE / name)
    missing = sorted({p.name for p in INCLUDE.glob("*.h")} - set(HEADERS))
    if missing:
        raise HeaderError(f"include/tlcache/{missing[0]}:1: not in the list of tools/checks/headers.py")
    return api
