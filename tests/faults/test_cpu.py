# SPDX-License-Identifier: MIT
"""Keys, guards and loading, through the cpu backend and the compiler of this machine."""

import os
import shutil
import stat
import unittest
import urllib.parse

from agents import AgentTest, main

GCC = shutil.which("gcc")
SOURCE = "int f(void) { return %s; }\n"


def quoted(text):
    return urllib.parse.quote(str(text), safe="/:._-=+")


def words(**fields):
    """A request's fields as the agent takes them; lists by commas."""
    out = []
    for name, value in fields.items():
        text = ",".join(quoted(item) for item in value) if isinstance(value, list) else quoted(value)
        out.append(f"{name}={text}")
    return out


@unittest.skipUnless(GCC, "needs gcc")
class Cpu(AgentTest):
    def setUp(self):
        super().setUp()
        self.user = self.agent(self.store)

    def cc(self, agent=None, expect="TLC_OK", **fields):
        fields.setdefault("compiler", GCC)
        return (agent or self.user)("cc", *words(**fields), expect=expect)

    def explain(self, **fields):
        fields.setdefault("compiler", GCC)
        return self.user("explain", *words(**fields), expect="TLC_OK").json

    def assert_miss(self, value, agent=None, **fields):
        answer = self.cc(agent, **fields)
        self.assertEqual((answer["compiled"], answer["value"]), ("1", str(value)), answer.line)

    def assert_hit(self, value, agent=None, **fields):
        answer = self.cc(agent, **fields)
        self.assertEqual((answer["compiled"], answer["value"]), ("0", str(value)), answer.line)

    # ---- what makes a key

    def test_each_field_varied_alone_is_another_key(self):
        plain = {"source": SOURCE % 1}
        self.assert_miss(1, **plain)
        for change in ({"source": SOURCE % "1 "}, {"options": ["-O1"]}, {"options": ["-O1", "-g0"]},
                       {"options": ["-O1-g0"]}, {"define": "x"}, {"define": "y"},
                       {"language": "c++", "compiler": "g++"},
                       {"include_dirs": [self.folder]}, {"comment": "the caller's own"}, {"target": "cpu:native"}):
            with self.subTest(change=change):
                answer = self.user("kernel", *words(**{"compiler": GCC, **plain, **change}))
                self.assertNotEqual(answer.status, "TLC_OK", answer.line)
        self.assert_hit(1, **plain)
        other = self.agent(self.store, environment={"LC_ALL": "C", "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"})
        self.assert_hit(1, agent=other, **plain)

    def test_an_unresolvable_target_is_an_error_and_changes_nothing(self):
        self.assert_miss(1, source=SOURCE % 1)
        for target in ("cpu:x86_64:no_such_feature", "nosuch:native", "cpu::", ""):
            with self.subTest(target=target):
                answer = self.user("cc", *words(source=SOURCE % 1, compiler=GCC, target=target))
                self.assertTrue(answer.status.startswith("TLC_E_"), answer.line)
                self.assertTrue(answer["message"])
        answer = self.user("cc", *words(source=SOURCE % 1, compiler="/no/such/compiler"))
        self.assertIn(answer.status, ("TLC_E_UNAVAILABLE", "TLC_E_UNCACHEABLE", "TLC_E_NOT_FOUND"), answer.line)
        self.assert_hit(1, source=SOURCE % 1)

    # ---- which compiler

    def wrapper(self, name, extra=""):
        """A compiler that notes every start."""
        path = self.write(name, f'#!/bin/sh\n# {extra}\necho start >> {self.path("starts")}\nexec {GCC} "$@"\n')
        os.chmod(path, 0o755)
        return path

    def starts(self):
        if not os.path.exists(self.path("starts")):
            return 0
        with open(self.path("starts"), encoding="ascii") as file:
            return len(file.readlines())

    def test_a_warm_hit_starts_no_compiler(self):
        compiler = self.wrapper("cc-a")
        self.assert_miss(1, source=SOURCE % 1, compiler=compiler)
        before = self.starts()
        self.assertGreater(before, 0)
        self.assert_hit(1, source=SOURCE % 1, compiler=compiler)
        self.assertEqual(self.starts(), before)
        other = self.agent(self.store)  # a new process remembers the compiler's parts too
        self.assert_hit(1, agent=other, source=SOURCE % 1, compiler=compiler)
        self.assertEqual(self.starts(), before)

    def test_the_same_compiler_copied_or_touched_is_a_hit_and_another_is_a_miss(self):
        compiler = self.wrapper("cc-a", "one")
        self.assert_miss(1, source=SOURCE % 1, compiler=compiler)
        os.utime(compiler, (1, 1))
        self.assert_hit(1, source=SOURCE % 1, compiler=compiler)
        os.mkdir(self.path("elsewhere"))
        copy = shutil.copy(compiler, self.path("elsewhere", "cc-a"))
        # Where a compiler lies is not what it is: the field that names it is the backend's own.
        env = self.agent(environment={"TLC_CC": compiler})
        env("open", self.store, 1, expect="TLC_OK")
        first = env("cc", *words(source=SOURCE % 5), expect="TLC_OK")
        env = self.agent(environment={"TLC_CC": copy})
        env("open", self.store, 1, expect="TLC_OK")
        again = env("cc", *words(source=SOURCE % 5), expect="TLC_OK")
        self.assertEqual((first["compiled"], again["compiled"]), ("1", "0"), again.line)
        # Equal version, equal path, other content.
        self.wrapper("cc-a", "two")
        self.assert_miss(1, source=SOURCE % 1, compiler=compiler)

    # ---- headers

    def with_header(self):
        self.first, self.second = self.path("first"), self.path("second")
        os.mkdir(self.first)
        self.write("second/h.h", "#define H 1\n")
        return {"source": '#include <h.h>\nint f(void) { return H; }\n', "include_dirs": [self.first, self.second]}

    def test_an_edited_header(self):
        request = self.with_header()
        self.assert_miss(1, **request)
        self.assert_hit(1, **request)
        self.write("second/h.h", "#define H 2\n")
        why = self.explain(**request)
        self.assertEqual(why["outcome"], "guard")
        self.assertEqual(why["guards"], [{"path": self.second + "/h.h", "kind": "changed"}])
        self.assert_miss(2, **request)
        self.assert_hit(2, **request)
        self.write("second/h.h", "#define H 1\n")  # back again: what was compiled for it is still there
        self.assert_hit(1, **request)

    def test_a_header_shadowed_by_an_earlier_folder(self):
        request = self.with_header()
        self.assert_miss(1, **request)
        shadow = self.write("first/h.h", "#define H 3\n")
        why = self.explain(**request)
        self.assertEqual((why["outcome"], why["guards"]), ("guard", [{"path": shadow, "kind": "appeared"}]))
        self.assert_miss(3, **request)
        os.unlink(shadow)
        self.assert_hit(1, **request)

    def test_a_removed_header(self):
        request = self.with_header()
        self.assert_miss(1, **request)
        os.unlink(self.second + "/h.h")
        why = self.explain(**request)
        self.assertEqual((why["outcome"], why["guards"]),
                         ("guard", [{"path": self.second + "/h.h", "kind": "missing"}]))
        self.cc(expect="TLC_E_COMPILE", **request)

    def test_a_header_asked_for_in_vain_that_appears(self):
        self.with_header()
        request = {"source": "#if __has_include(<maybe.h>)\n#include <maybe.h>\n#else\n#define M 7\n#endif\n"
                             "int f(void) { return M; }\n", "include_dirs": [self.first, self.second]}
        self.assert_miss(7, **request)
        added = self.write("second/maybe.h", "#define M 8\n")
        why = self.explain(**request)
        self.assertEqual(why["outcome"], "guard")
        self.assertIn({"path": added, "kind": "appeared"}, why["guards"])
        self.assert_miss(8, **request)

    def test_an_include_folder_that_appears(self):
        self.with_header()
        late = self.path("late")
        request = {"source": "#include <h.h>\nint f(void) { return H; }\n", "include_dirs": [late, self.second]}
        self.assert_miss(1, **request)
        self.write("late/h.h", "#define H 9\n")
        self.assertEqual(self.explain(**request)["outcome"], "guard")
        self.assert_miss(9, **request)

    # ---- loading

    def test_a_replaced_kernel_is_loaded_from_a_path_of_its_own(self):
        """dlopen takes a known path for the library it has: both generations must live in one process."""
        request = self.with_header()
        self.assert_miss(1, **request)
        for value in range(2, 6):
            self.write("second/h.h", f"#define H {value}\n")
            self.assert_miss(value, **request)
        request = {"source": SOURCE % 11}
        self.assert_miss(11, **request)
        self.user("clear", expect="TLC_OK")
        self.user("gc", 1, expect="TLC_OK")
        self.assert_miss(11, **request)

    def test_the_materialised_folder_of_a_new_generation_is_another(self):
        self.user("put", "x", 1, 1000, expect="TLC_OK")
        self.user("hold", "x")
        first = self.user("folder", "x", expect="TLC_OK")["path"]
        self.user("release", "x")
        self.user("replace", "x", 2, 1000, expect="TLC_OK")
        self.user("hold", "x")
        second = self.user("folder", "x", expect="TLC_OK")["path"]
        self.assertNotEqual(first, second)
        # A folder that somebody removed comes back under yet another name, since its path may be loaded.
        os.chmod(second, 0o700)
        shutil.rmtree(second)
        third = self.user("folder", "x", expect="TLC_OK")["path"]
        self.assertNotIn(third, (first, second))

    def kernel_files(self):
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.store) for name in names
                if name == "kernel.so"]

    def test_a_damaged_materialised_file_never_reaches_dlopen(self):
        request = {"source": "int f(void) { return 0x1234567; }\n"}
        self.assert_miss(0x1234567, **request)
        self.user.finish()
        for damage in ("flip", "cut", "empty"):
            with self.subTest(damage=damage):
                for path in self.kernel_files():
                    self.damage(path, damage)
                agent = self.agent(self.store)
                self.assert_hit(0x1234567, agent=agent, **request)
                self.assertEqual(agent.finish(), 0)

    def damage(self, path, how):
        os.chmod(os.path.dirname(path), 0o700)
        os.chmod(path, 0o700)
        with open(path, "rb") as file:
            content = file.read()
        at = content.find((0x1234567).to_bytes(4, "little"))
        changed = {"flip": content[:at] + b"\x66" + content[at + 1:], "cut": content[:len(content) // 2],
                   "empty": b""}[how]
        self.assertNotEqual(changed, content)
        with open(path, "wb") as file:
            file.write(changed)

    def test_a_damaged_segment_never_reaches_dlopen(self):
        request = {"source": "int f(void) { return 0x1234567; }\n"}
        self.assert_miss(0x1234567, **request)
        self.user.finish()
        for folder, _, names in os.walk(self.store):
            for name in names:
                path = os.path.join(folder, name)
                if not name.endswith(".seg"):
                    continue
                with open(path, "rb") as file:
                    content = file.read()
                constant = (0x1234567).to_bytes(4, "little")
                if constant in content:
                    os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)
                    with open(path, "wb") as file:
                        file.write(content.replace(constant, b"\x66" + constant[1:]))
        agent = self.agent(self.store)
        self.assert_miss(0x1234567, agent=agent, **request)
        self.assert_hit(0x1234567, agent=agent, **request)


if __name__ == "__main__":
    main()
