# SPDX-License-Identifier: MIT
"""What the checks share: the project's files (git's list, or a walk in a source archive), and text without comments."""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = {".git", "build", ".venv", "dist", ".cache", "__pycache__", "node_modules", "target"}
C_FAMILY = (".c", ".h", ".cpp", ".hpp", ".cpp.in", ".inc")


def project_files():
    """Paths relative to ROOT, sorted."""
    try:
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True,
                                capture_output=True).stdout.decode()
        paths = [Path(p) for p in listed.split("\0") if p]
    except (OSError, subprocess.CalledProcessError):
        paths = [p.relative_to(ROOT) for p in ROOT.rglob("*") if not LEFT_OUT & set(p.relative_to(ROOT).parts)]
    return sorted(p for p in paths if (ROOT / p).is_file() and not (ROOT / p).is_symlink())


def sources(*folders):
    """C and C++ files under the folders."""
    return [p for p in project_files() if p.parts[0] in folders and p.name.endswith(C_FAMILY)]


def blank_comments(text):
    """Comments of C and C++ become spaces; lines and columns, and what is in string literals, stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def replace(match):
        found = match.group()
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found

    return pattern.sub(replace, text)


def report(wrong):
    """Prints the findings; the exit code."""
    for line in wrong:
        print(line)
    return 1 if wrong else 0
