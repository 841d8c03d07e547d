"""What a command may not ask of the kernel, and what it may."""

import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from case import *

HERE = os.path.dirname(os.path.abspath(__file__))


class SeccompTest(Case):
    def test_the_table(self):
        with self.a_box() as box, open(HERE + "/probe.py", "rb") as script:
            probe = box.start(PYTHON, "-", stdin=script.fileno())
            probe.wait()
            self.assert_exited(probe)
            results = json.loads(probe.output())
            self.assertGreater(len(results), 80)
            wrong = {name: f"{got} instead of {want}" for name, (got, want) in results.items() if got != want}
            self.assertEqual({}, wrong)

    def test_init_is_under_most_of_it(self):
        with self.a_box() as box:
            filters = "grep -h Seccomp_filters /proc/1/status /proc/self/status | tr -dc '0-9\\n'"
            init, command = map(int, box.shell(filters).output().split())
            outer = int(field("self", "Seccomp_filters:"))
            self.assertEqual((outer + 1, outer + 2), (init, command))

    def test_other_architectures_are_killed(self):
        source = "int main(void){ int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return 0; }"
        with self.a_box() as box:
            self.assert_exited(box.run("gcc", "-x", "c", "-o", "i386", "-", stdin=self.file(source)))
            ended = box.run("./i386").ended
            self.assertEqual(signal.SIGSYS, ended["status"])

    def test_real_programs_run(self):
        java = ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
        for path in glob.glob("/etc/java-*"):
            java += ["--ro-bind", path, path]
        with self.a_box(options=java) as box:
            for name, script in PROGRAMS.items():
                with self.subTest(name):
                    if not shutil.which(name, path=ENVIRONMENT["PATH"]):
                        self.skipTest(f"host lacks {name}")
                    exec_ = box.start("/bin/sh", "-c", "set -e\n" + script)
                    exec_.wait(180)
                    print(name, end=" ", flush=True)
                    self.assert_exited(exec_)


PROGRAMS = {
    "python3": """cat > p.py <<'END'
import multiprocessing, socket, subprocess, tempfile, threading
if __name__ == "__main__":
    thread = threading.Thread(target=print)
    thread.start(), thread.join()
    subprocess.run(["true"], check=True)
    tempfile.mkstemp(), socket.if_nameindex()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
END
/usr/bin/python3 p.py; /usr/bin/python3 -m venv --without-pip v; /usr/bin/python3 -m pip list""",
    "node": """cat > n.js <<'END'
const {Worker} = require('worker_threads'), {execFileSync} = require('child_process');
new Worker('require("fs").writeFileSync("w", "x")', {eval: true}).on('exit', code => {
  console.log(execFileSync('echo', ['child']).toString(), require('os').networkInterfaces());
  process.exit(code);
});
END
node n.js""",
    "npm": "mkdir n; cd n; npm init -y; npm ls",
    "git": """git init -q r; cd r; echo x > f; git add f
git -c user.name=a -c user.email=b@c commit -qm x; git log --oneline; cd ..; git clone -q r s""",
    "gcc": "echo 'int main(void) { return 0; }' > a.c; gcc -pipe a.c -o a; ./a",
    "java": """cat > A.java <<'END'
public class A {
  public static void main(String[] arguments) throws Exception {
    Thread thread = new Thread(() -> System.out.println(1));
    thread.start();
    thread.join();
    if (new ProcessBuilder("true").start().waitFor() != 0) throw new Error();
  }
}
END
java -Xmx200m A.java""",
    "tar": "tar cf t.tar /usr/share/doc/tar; mkdir x; tar xf t.tar -C x; cp -a x y",
}
