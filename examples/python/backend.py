# SPDX-License-Identifier: MIT
"""A backend written in Python: elementwise expressions, compiled to machine code by the C compiler.

The language has numbers, names, + - * /, brackets, and the functions sqrt, exp, log, min and max.
What the backend adds to the compiler is what every backend adds: what the kernel depends on
(`identify`), how it is made (`compile`), loaded (`load`), and called (`symbol`). One compile serves
all processes of the host; the second run of this program compiles nothing.

    python backend.py
"""

from __future__ import annotations

import array
import ast
import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import tlcache

FUNCTIONS = {"sqrt": 1, "exp": 1, "log": 1, "fmin": 2, "fmax": 2}
ALIASES = {"min": "fmin", "max": "fmax"}
OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def to_c(node: ast.AST, names: set[str]) -> str:
    """An expression as C; collects the names it uses."""
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = to_c(node.left, names), to_c(node.right, names)
        return f"({left} {OPERATORS[type(node.op)]} {right})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"(-{to_c(node.operand, names)})"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return f"{float(node.value)!r}"
    if isinstance(node, ast.Name):
        names.add(node.id)
        return f"in_{node.id}[i]"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = ALIASES.get(node.func.id, node.func.id)
        if FUNCTIONS.get(function) == len(node.args):
            return f"{function}({', '.join(to_c(one, names) for one in node.args)})"
    raise tlcache.CompileError(
        f"column {getattr(node, 'col_offset', 0) + 1}: not in this language: {ast.unparse(node)}"
    )


def generate(source: str) -> str:
    """The kernel's C source: void kernel(long count, double* out, one array for each name)."""
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except SyntaxError as error:
        raise tlcache.CompileError(f"column {error.offset}: {error.msg}") from error
    names: set[str] = set()
    body = to_c(tree.body, names)
    inputs = "".join(f", const double* restrict in_{name}" for name in sorted(names))
    return (
        "#include <math.h>\n"
        f"void kernel(long count, double* restrict out{inputs}) {{\n"
        f"  for (long i = 0; i < count; ++i) out[i] = {body};\n"
        "}\n"
        f'const char names[] = "{" ".join(sorted(names))}";\n'
    )


class Kernel:
    """A loaded kernel: takes arrays of doubles by name, gives one."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        names = ctypes.c_char * 4096
        self.names = ctypes.string_at(ctypes.addressof(names.in_dll(library, "names"))).split()
        self.function = library.kernel
        self.function.restype = None
        self.function.argtypes = [ctypes.c_long] + [ctypes.c_void_p] * (1 + len(self.names))

    def __call__(self, **inputs: array.array[float]) -> array.array[float]:
        arrays = [inputs[name.decode()] for name in self.names]
        count = min(len(one) for one in arrays)
        out = array.array("d", bytes(8 * count))
        self.function(count, *(one.buffer_info()[0] for one in (out, *arrays)))
        return out


@tlcache.backend(
    engine="expressions-cc", target_kinds=["expressions"], host_bound=True, survives_fork=True
)
class Expressions:
    """The backend. Any Python object can be one; what it has of these methods is what it can do."""

    def __init__(self, options: tuple[str, ...] = ("-O3", "-fPIC", "-shared")) -> None:
        self._options = options
        self._compiler = shutil.which(os.environ.get("CC", "cc"))

    def probe(self) -> dict[str, str]:
        """What `cache.backends()` and `tlcache doctor` show."""
        if self._compiler is None:
            raise tlcache.UnavailableError("no C compiler: set CC, or install cc")
        return {"compiler": self._compiler}

    def identify(
        self, request: tlcache.BackendRequest, target: str, call: tlcache.BackendCall
    ) -> bytes:
        """All that the code depends on beside the request. Starts no compiler."""
        identity = call.file_identity(self.probe()["compiler"])
        return b"expressions 1\0" + identity + " ".join(self._options).encode()

    def compile(
        self,
        request: tlcache.BackendRequest,
        target: str,
        bundle: tlcache.Bundle,
        log: tlcache.BackendLog,
    ) -> None:
        """Writes C, lets the compiler make a shared object of it, keeps both."""
        source = generate(request["source"])
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "kernel.so")
            done = subprocess.run(
                [self.probe()["compiler"], *self._options, "-o", out, "-x", "c", "-", "-lm"],
                input=source,
                capture_output=True,
                text=True,
            )
            log.write(done.stderr)
            if done.returncode != 0:
                raise tlcache.CompileError(f"{self._compiler} refused the generated C")
            bundle.add("kernel.so", out.read_bytes(), tlcache.MemberType.SHARED_OBJECT)
        bundle.add("kernel.c", source.encode(), tlcache.MemberType.SOURCE)

    def validate(self, artifact: tlcache.Artifact, options: tlcache.LoadOptions) -> None:
        """Looks before `load` hands it to the system, which trusts what it gets."""
        if artifact.get("kernel.so", b"")[:4] != b"\x7fELF":
            raise tlcache.Rejected("kernel.so is missing, or is no shared object")

    def load(self, artifact: tlcache.Artifact, options: tlcache.LoadOptions) -> Kernel:
        """Any object may be the module. The artifact keeps its folder."""
        return Kernel(artifact.folder() / "kernel.so")

    def symbol(self, module: Kernel, name: str) -> object:
        """An object of Python's: the caller gets it by Module.object."""
        return module if name == "kernel" else None


def main() -> None:
    """Compiles or finds a kernel, runs it, and shows what an error looks like."""
    tlcache.register_backend(Expressions)
    with tlcache.Cache() as cache:

        def kernel(source: str) -> tuple[tlcache.Module, str]:
            request = tlcache.Request("examples", target="expressions", fields={"source": source})
            artifact = cache.get_or_compile(request)
            how = "found" if artifact.log is None else "compiled"
            return cache.load(artifact), how

        module, how = kernel("x * x + max(y, 1)")
        call = module.object("kernel")
        x, y = array.array("d", [1, 2, 3]), array.array("d", [0, 0.5, 1])
        print(f"{how}: {call(x=x, y=y).tolist()}")
        try:
            kernel("x if y else 0")
        except tlcache.CompileError as error:
            print(f"refused: {error}")


if __name__ == "__main__":
    main()
