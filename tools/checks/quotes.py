#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what a document quotes from a source file is in it: the block after a line

  <!-- from PATH -->

must be there line for line, whatever the indent; a line of three dots stands for any number of lines.

Prints file:line for each line that is not. Exit code 1 if there is one.
"""
import argparse
import re
import sys

from files import ROOT, project_files, report

MARK = re.compile(r"^<!-- from (\S+) -->$")
FENCE = "```"


def quotes(lines):
    """(line number of the mark, path, [(line number, text)]) for each marked block."""
    for number, line in enumerate(lines):
        mark = MARK.match(line)
        if not mark:
            continue
        block = []
        if number + 1 < len(lines) and lines[number + 1].startswith(FENCE):
            end = next((i for i in range(number + 2, len(lines)) if lines[i].startswith(FENCE)), len(lines))
            block = [(i + 1, lines[i].strip()) for i in range(number + 2, end) if lines[i].strip()]
        yield number + 1, mark[1], block


def parts_of(block):
    """The runs of lines between lines of three dots."""
    parts = [[]]
    for number, text in block:
        if text in ("...", "// ..."):
            parts.append([])
        else:
            parts[-1].append((number, text))
    return [part for part in parts if part]


def missing(block, source):
    """The first quoted line that does not stand where it should, or None."""
    start = 0
    for part in parts_of(block):
        texts = [text for _, text in part]
        # Where the whole run stands; else the place that has most of it, to name the line that differs.
        best = 0
        for at in range(start, len(source)):
            same = 0
            while same < len(texts) and at + same < len(source) and source[at + same] == texts[same]:
                same += 1
            if same == len(texts):
                start = at + same
                break
            best = max(best, same)
        else:
            return part[best]
    return None


def check(document):
    for number, path, block in quotes((ROOT / document).read_text().split("\n")):
        if not (ROOT / path).is_file():
            yield f"{document}:{number}: there is no file {path}"
        elif not block:
            yield f"{document}:{number}: no block follows"
        else:
            source = [line.strip() for line in (ROOT / path).read_text().split("\n") if line.strip()]
            wrong = missing(block, source)
            if wrong:
                yield f"{document}:{wrong[0]}: not in {path}, or not here: {wrong[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    documents = [path for path in project_files() if path.suffix == ".md"]
    return report([line for document in documents for line in check(document)])


if __name__ == "__main__":
    sys.exit(main())
