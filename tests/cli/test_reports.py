# SPDX-License-Identifier: MIT
"""Reports that are hard to provoke, answered from a file in the library's place: evictions, damage, refused plugins,
and reports with members missing or of another type, which must not make the command fail."""

import json
import re
import signal
import subprocess
import sys
import time

from support import NEGATIVE, OK, PRELOAD, TOOL, CliTest, main

if not PRELOAD:
    print("skipped: needs the shared library, built without sanitizers")
    sys.exit(77)


class Reports(CliTest):
    def with_report(self, name, report, *arguments, expect=OK):
        content = report if isinstance(report, (bytes, str)) else json.dumps(report)
        path = self.write("report.json", content)
        return self.run_tool(*arguments, expect=expect,
                             environment={"LD_PRELOAD": PRELOAD, f"TLC_TEST_REPORT_{name}": path})[0]

    def why(self, report, expect=NEGATIVE):
        return self.with_report("EXPLAIN", report, "why", self.put()[:12], expect=expect)

    def test_why_evicted(self):
        report = {"digest": "ab" * 32, "outcome": "evicted", "reason": None, "when_s": 300, "guards": [],
                  "nearest": None, "scanned": 0}
        self.assertIn("miss abababababab: it was evicted, 5 min ago to keep the store within its limit.",
                      self.why(report))
        report["when_s"] = int(time.time()) - 7200
        self.assertIn("evicted, 2 h ago", self.why(report))

    def test_why_removed_rejected_and_guards(self):
        self.assertIn("it was removed", self.why({"outcome": "removed"}))
        self.assertIn("cannot be used (hash differs)", self.why({"outcome": "rejected", "reason": "hash differs"}))
        text = self.why({"outcome": "guard", "guards": [
            {"path": "/a.h", "kind": "changed"}, {"path": "/b.h", "kind": "missing"},
            {"path": "/c.h", "kind": "appeared"}]})
        self.assertIn("/a.h  has changed", text)
        self.assertIn("/b.h  is gone", text)
        self.assertIn("/c.h  is there now", text)

    def test_why_nearest(self):
        text = self.why({"digest": "ab" * 32, "outcome": "never", "scanned": 12, "nearest": {
            "digest": "cd" * 32, "label": "matmul", "created_ns": (int(time.time()) - 180) * 10**9, "differences": [
                {"path": "options[2]", "kind": "changed", "was": "-O2", "now": "-O3"},
                {"path": "defines.N", "kind": "added", "was": "", "now": "64"},
                {"path": "defines.M", "kind": "removed", "was": "32", "now": ""}]}})
        self.assertIn("this was never built here.", text)
        self.assertIn("The nearest of 12 stored keys is cdcdcdcdcdcd (matmul), built 3 min ago.\nIt differs in:\n", text)
        self.assertIn("  options[2]: -O2 -> -O3\n  defines.N: 64 now, absent there\n  defines.M: absent now, 32 there\n",
                      text)

    def test_why_a_hit_names_the_nearest_other(self):
        text = self.why({"digest": "ab" * 32, "outcome": "hit", "scanned": 3, "nearest": {
            "digest": "cd" * 32, "label": "matmul", "created_ns": 0, "differences": [
                {"path": "options.num_warps", "kind": "changed", "was": "4", "now": "8"}]}}, expect=OK)
        self.assertIn("The nearest other of 3 stored keys is cdcdcdcdcdcd (matmul).\n"
                      "What was built here differs from it in:\n  options.num_warps: 4 -> 8\n", text)

    def test_verify_damaged(self):
        damaged = {"digest": "ef" * 32, "label": "softmax", "reason": "payload hash differs", "repaired": False}
        report = {"entries": 7, "bytes": 2048, "damaged": [damaged], "index": {"state": "sound", "detail": ""},
                  "leftovers": 2}
        text = self.with_report("VERIFY", report, "verify", expect=NEGATIVE)
        self.assertIn("checked 7 entries, 2 KiB", text)
        self.assertIn("damaged efefefefefef (softmax): payload hash differs\n", text)
        self.assertIn("2 leftovers", text)
        self.assertIn("--repair", text)
        damaged["repaired"] = True
        text = self.with_report("VERIFY", report, "verify", "--repair")
        self.assertIn("taken out", text)
        self.assertIn("the store is sound", text)
        self.with_report("VERIFY", {"index": {"state": "damaged"}}, "verify", expect=NEGATIVE)

    def test_stats_say_when_the_limit_is_too_small(self):
        total = {"hits": 3, "misses": 1, "evictions": 5, "youngest_evicted_s": 600, "compile_us": 1_500_000,
                 "compiles": 1, "rejections": 0}
        text = self.with_report("STATS", {"total": total, "namespaces": []}, "stats")
        self.assertIn("3 of 4 look-ups, 75.0 %", text)
        self.assertIn("1 time, in 1.50 s", text)
        self.assertIn("5, the youngest 10 min old", text)
        self.assertIn("a larger limit would save compiles", text)

    def test_openmetrics_escapes_names(self):
        text = self.with_report("STATS", {"total": {}, "namespaces": [{"namespace": 'a"b\\c', "hits": 1}]}, "stats",
                                "--openmetrics")
        self.assertIn('tlcache_namespace_hits_total{namespace="a\\"b\\\\c"} 1\n', text)

    def test_doctor_without_a_store(self):
        report = {"version": "0.1.0", "directory": "/somewhere", "state": "memory", "reason": "no space",
                  "warnings": ["the disk is full"], "settings": [{"name": "TLC_DIR", "value": "/x", "origin": "env"}],
                  "index": {"generation": 3, "entries": 1, "bytes": 4096, "rebuilding": True}}
        text = self.with_report("DESCRIBE", report, "doctor", expect=NEGATIVE)
        self.assertIn("not used, artifacts stay in memory: no space", text)
        self.assertIn("being rebuilt", text)
        self.assertIn("warning: the disk is full", text)
        self.assertRegex(text, r"TLC_DIR +/x +env")

    def test_backends_refused_and_unavailable(self):
        report = {"backends": [{"name": "GPU", "engine": "gpucc", "kinds": ["gpu"], "default_of": [],
                                "available": False, "reason": "no driver", "found": {"driver": None}, "origin": "built in"}],
                  "refused": [{"origin": "/p.so", "reason": "writable by others"}]}
        text = self.with_report("BACKENDS", report, "backends")
        self.assertRegex(text, r"gpucc  GPU  not available\n +because +no driver\n")
        self.assertIn("refused /p.so: writable by others", text)

    def test_json_is_passed_through(self):
        report = {"entries": 18446744073709551615, "unknown": {"kept": [1, 2.5, None]}}
        self.assertEqual(json.loads(self.with_report("VERIFY", report, "verify", "--json")), report)

    def test_strange_reports_do_not_make_it_fail(self):
        digest = self.put()[:12]
        commands = {"DESCRIBE": [["doctor"], ["config"], ["config", "limit"]], "BACKENDS": [["backends"], ["doctor"]],
                    "STATS": [["stats"], ["stats", "--openmetrics"]], "VERIFY": [["verify"]], "GC": [["gc"]],
                    "EXPLAIN": [["why", digest]]}
        members = ["total", "namespaces", "damaged", "index", "segments", "settings", "warnings", "libraries", "backends",
                   "refused", "guards", "nearest", "differences", "found", "kinds", "outcome", "state", "entries",
                   "freed_bytes", "when_s", "label", "digest", "hits", "limit_bytes"]
        values = [None, 5, -5, 1e300, True, "text", "\x1b[0m", [], {}, [1, "a", None, [{}]], {"a": {"b": [1]}}]
        reports = ["{}", "[]", "null", "5", '"text"', b'{"outcome": "\xff\xfe"}']
        reports += [json.dumps({member: value for member in members}) for value in values]
        for name, runs in commands.items():
            for report in reports:
                for run in runs:
                    with self.subTest(name=name, report=report, run=run):
                        path = self.write("report.json", report)
                        done = self.run_raw(*run, environment={"LD_PRELOAD": PRELOAD,
                                                               f"TLC_TEST_REPORT_{name}": path})
                        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                        self.assertFalse(re.search(rb"\x1b", done.stdout))

    def test_long_work_shows_a_bar_on_a_terminal_only(self):
        slow = {"LD_PRELOAD": PRELOAD, "TLC_TEST_SLOW_VERIFY": "16"}
        self.assertEqual(self.run_tool("verify", environment=slow)[1], "")
        self.assertRegex(self.run_on_terminal("verify", environment=slow), rb"verify \[=+ +\] +\d+ %")
        quick = {"LD_PRELOAD": PRELOAD, "TLC_TEST_SLOW_VERIFY": "3"}
        self.assertNotIn(b"[=", self.run_on_terminal("verify", environment=quick))

    def test_long_work_can_be_interrupted(self):
        environment = {**self.environment, "LD_PRELOAD": PRELOAD, "TLC_TEST_SLOW_VERIFY": "300"}
        process = subprocess.Popen([TOOL, "verify"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=20), (b"", b"tlcache: interrupted\n"))
        self.assertEqual(process.returncode, 128 + signal.SIGINT)

    def test_a_report_that_is_no_json(self):
        for name, command in (("STATS", "stats"), ("VERIFY", "verify"), ("DESCRIBE", "doctor")):
            path = self.write("report.json", "{broken")
            self.assert_error(command, code=3, says="no JSON",
                              environment={"LD_PRELOAD": PRELOAD, f"TLC_TEST_REPORT_{name}": path})


if __name__ == "__main__":
    main()
