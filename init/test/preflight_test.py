"""Too few pids, files or too little memory for a program is reported before it starts."""

import json
import pathlib
import resource
import subprocess
import tempfile

from case import *

NOBODY = 59999  # has no process: its RLIMIT_NPROC counts ours alone


class PreflightTest(Case):
    def supervise(self, *needed, **options):
        """Code, stdout and stderr of a program that has what it needs, or does not begin; kept or not, they are the same."""
        results = [self.run_as("preflight", *needed, "--", "/bin/echo", "begun", **options),
                   self.run_as("supervise", *needed, "--", "/bin/echo", "begun", **options)]
        self.assertEqual(*[(code, out, complaint.replace("supervise: unr", "preflight: unr")) for code, out, complaint in results])
        return results[0]

    def run_as(self, *words, **options):
        result = subprocess.run([self.binary, *words], capture_output=True, text=True, **options)
        return result.returncode, result.stdout, result.stderr

    def test_without_a_program_it_only_looks(self):
        self.assertEqual((0, "", ""), self.run_as("preflight", "--pids", "8"))
        code, out, complaint = self.run_as("preflight", "--pids", "20", **self.limited(resource.RLIMIT_NPROC, 20))
        self.assertEqual((125, ""), (code, out))
        self.assertIn("19 more processes and threads can be started, 20 are needed", complaint)

    def test_doctor_tells_it_in_his_way(self):
        needed = ["--files", "65", "--memory", "4000000000", "--", "/bin/echo", "begun"]
        there = self.limited(resource.RLIMIT_NOFILE, 64)
        code, out, complaint = self.run_as("preflight", "--as", "doctor", *needed, **there)
        self.assertEqual((125, ""), (code, complaint))
        self.assertTrue(out.startswith(
            "failed    preflight     64 files can be open, 65 are needed\n"
            "                        -> raise ulimit -n (docker: --ulimit nofile=, systemd: LimitNOFILE=)\n"
            "failed    preflight     "), out)
        code, out, complaint = self.run_as("preflight", "--as", "json", *needed, **there)
        self.assertEqual((125, ""), (code, complaint))
        files, memory = json.loads(out)
        self.assertEqual({
            "name": "preflight", "verdict": "failed", "finding": "64 files can be open, 65 are needed",
            "remedy": "raise ulimit -n (docker: --ulimit nofile=, systemd: LimitNOFILE=)"}, files)
        self.assertRegex(memory["finding"], r"\d+ MiB of memory by .*, 4000000000 are needed")
        self.assertEqual((0, "begun\n", ""), self.run_as("preflight", "--as", "json", "--files", "64", *needed[4:], **there))

    def test_a_path_with_quotes_is_still_json(self):
        """KERNEL: a name of a cgroup may have any byte but a slash and a newline; systemd escapes by backslashes."""
        name = 'ebb-preflight-"\\x2d\t%d' % os.getpid()
        place = pathlib.Path("/sys/fs/cgroup/memory" if os.path.exists("/sys/fs/cgroup/memory") else "/sys/fs/cgroup", name)
        if not os.access(place.parent, os.W_OK):
            self.skipTest("host lacks writable cgroups of memory")
        place.mkdir()
        self.addCleanup(place.rmdir)
        limit = place / ("memory.limit_in_bytes" if "memory" in str(place.parent) else "memory.max")
        if not limit.exists():
            self.skipTest("host lacks the controller memory for children of its root")
        limit.write_text(str(64 << 20))
        _, out, _ = self.run_as("preflight", "--as", "json", "--memory", "65", preexec_fn=lambda: (place / "cgroup.procs").write_text("0"))
        self.assertEqual(f"64 MiB of memory by {limit}, 65 are needed", json.loads(out)[0]["finding"])

    def test_a_program_that_is_not_there_is_told(self):
        self.assertEqual((127, "", "ebb-init: cannot execute /nowhere: ENOENT\n"), self.run_as("preflight", "--pids", "1", "--", "/nowhere"))

    def setUp(self):
        super().setUp()
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        os.chmod(place.name, 0o755)
        self.binary = place.name + "/ebb-init"
        subprocess.run(["install", "-m", "755", BINARY, self.binary], check=True)

    def limited(self, kind, most):
        def limit():
            resource.setrlimit(kind, (most, most))
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)

        return {"preexec_fn": limit}

    def test_enough_is_no_word_lost(self):
        self.assertEqual((0, "begun\n", ""), self.supervise("--pids", "48", "--files", "64", "--memory", "1"))

    def test_it_tells_how_many_processes_there_may_be(self):
        there = self.limited(resource.RLIMIT_NPROC, 20)
        self.assertEqual((0, "begun\n", ""), self.supervise("--pids", "19", **there))
        code, out, complaint = self.supervise("--pids", "20", **there)
        self.assertEqual((125, ""), (code, out))
        self.assertIn("19 more processes and threads can be started, 20 are needed; raise pids.max", complaint)

    def test_it_tells_how_many_files_may_be_open(self):
        there = self.limited(resource.RLIMIT_NOFILE, 64)
        self.assertEqual((0, "begun\n", ""), self.supervise("--files", "64", **there))
        code, out, complaint = self.supervise("--files", "65", **there)
        self.assertEqual((125, ""), (code, out))
        self.assertIn("64 files can be open, 65 are needed; raise ulimit -n", complaint)

    def test_it_tells_how_much_memory_there_is(self):
        code, out, complaint = self.supervise("--memory", "4000000000")
        self.assertEqual((125, ""), (code, out))
        self.assertRegex(complaint, r"\d+ MiB of memory by .*, 4000000000 are needed; raise it")

    def test_what_is_too_little_is_told_at_once(self):
        there = self.limited(resource.RLIMIT_NOFILE, 64)
        _, _, complaint = self.supervise("--files", "65", "--memory", "4000000000", **there)
        self.assertEqual(2, complaint.count("ebb: preflight failed: "))

    def test_bad_options_begin_nothing(self):
        for words in (["--pids", "many"], ["--threads", "2"]):
            code, out, _ = self.supervise(*words)
            self.assertEqual("", out)
            self.assertNotEqual(0, code)
