"""Too little room for a program is told before it begins."""

import resource
import subprocess
import tempfile

from case import *

NOBODY = 59999  # has no process: its RLIMIT_NPROC counts ours alone


class RoomTest(Case):
    def keep(self, *needed, **options):
        """Code, stdout and stderr of a program that has what it needs, or does not begin."""
        result = subprocess.run([self.binary, "keep", *needed, "--", "/bin/echo", "begun"], capture_output=True, text=True, **options)
        return result.returncode, result.stdout, result.stderr

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
        self.assertEqual((0, "begun\n", ""), self.keep("--pids", "48", "--files", "64", "--memory", "1"))

    def test_it_tells_how_many_processes_there_may_be(self):
        there = self.limited(resource.RLIMIT_NPROC, 20)
        self.assertEqual((0, "begun\n", ""), self.keep("--pids", "19", **there))
        code, out, complaint = self.keep("--pids", "20", **there)
        self.assertEqual((125, ""), (code, out))
        self.assertIn("19 more processes and threads can be started, 20 are needed; raise pids.max", complaint)

    def test_it_tells_how_many_files_may_be_open(self):
        there = self.limited(resource.RLIMIT_NOFILE, 64)
        self.assertEqual((0, "begun\n", ""), self.keep("--files", "64", **there))
        code, out, complaint = self.keep("--files", "65", **there)
        self.assertEqual((125, ""), (code, out))
        self.assertIn("64 files can be open, 65 are needed; raise ulimit -n", complaint)

    def test_it_tells_how_much_memory_there_is(self):
        code, out, complaint = self.keep("--memory", "4000000000")
        self.assertEqual((125, ""), (code, out))
        self.assertRegex(complaint, r"\d+ MiB of memory by .*, 4000000000 are needed; raise it")

    def test_what_is_too_little_is_told_at_once(self):
        there = self.limited(resource.RLIMIT_NOFILE, 64)
        _, _, complaint = self.keep("--files", "65", "--memory", "4000000000", **there)
        self.assertEqual(2, complaint.count("ebb: too little room here: "))

    def test_bad_options_begin_nothing(self):
        for words in (["--pids", "many"], ["--threads", "2"]):
            code, out, _ = self.keep(*words)
            self.assertEqual("", out)
            self.assertNotEqual(0, code)
