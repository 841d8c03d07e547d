"""Directories of the host in the box."""

import os
import shutil
import tempfile

from case import *
from launch_test import forbid


class MountTest(Case):
    def setUp(self):
        super().setUp()
        self.source = tempfile.mkdtemp(prefix=NAME + "-", dir="/root")
        os.chmod(self.source, 0o700)
        with open(self.source + "/secret", "w") as secret:
            secret.write("content")
        os.chmod(self.source + "/secret", 0o600)

    def tearDown(self):
        super().tearDown()
        shutil.rmtree(self.source)

    def test_a_private_directory_is_readable_and_read_only(self):
        with self.a_box(mounts=[(self.source, "ro")], options=["--ro-bind", "/tmp/0", "/mnt"]) as box:
            self.assertEqual(b"content", box.shell("cat /mnt/secret").output())
            self.assertEqual(b"1000 1000\n", box.shell("stat -c '%u %g' /mnt").output())
            self.assertIn(b"Read-only file system", box.shell("echo x > /mnt/new").output(1))
            # Not because bwrap asked for it, but because the mount itself is.
        with self.a_box(mounts=[(self.source, "ro")], options=["--bind", "/tmp/0", "/mnt"]) as box:
            self.assertIn(b"Read-only file system", box.shell("echo x > /mnt/new").output(1))

    def test_files_written_belong_to_the_owner_of_the_directory(self):
        for owner in (0, 4711, UID):
            os.chown(self.source, owner, owner)
            os.chown(self.source + "/secret", owner, owner)
            with self.a_box(mounts=[(self.source, "rw"), (self.source, "ro")],
                            options=["--bind", "/tmp/0", "/mnt", "--ro-bind", "/tmp/1", "/opt"]) as box:
                self.assert_exited(box.shell("set -e; cat /mnt/secret; echo x > /mnt/new; mkdir /mnt/d; cat /opt/new"))
                for name in ("new", "d"):
                    status = os.stat(f"{self.source}/{name}")
                    self.assertEqual((owner, owner), (status.st_uid, status.st_gid))
                options = box.shell("grep ' /mnt ' /proc/self/mountinfo").output()
                self.assertTrue(b"nosuid" in options and b"nodev" in options, options)
                for command in ("chmod u+s /mnt/new", "chmod 2755 /mnt/new", "mknod -m 4755 /mnt/p p",
                                "install -m 4755 /bin/true /mnt/t"):
                    self.assertNotEqual(0, box.shell(command).ended["status"], command)
            self.assertEqual([], [n for n in os.listdir(self.source) if os.stat(f"{self.source}/{n}").st_mode & 0o6000])
            os.unlink(self.source + "/new")
            os.rmdir(self.source + "/d")
            for name in set(os.listdir(self.source)) - {"secret"}:
                os.unlink(f"{self.source}/{name}")

    def test_a_single_file_can_be_mounted(self):
        with self.a_box(mounts=[(self.source + "/secret", "ro")], options=["--ro-bind", "/tmp/0", "/opt/file"]) as box:
            self.assertEqual(b"content", box.shell("cat /opt/file").output())

    def test_the_host_sees_nothing_of_it(self):
        before = read("/proc/self/mountinfo")
        with self.a_box(mounts=[(self.source, "rw")], options=["--bind", "/tmp/0", "/mnt"]) as box:
            self.assertEqual(before, read("/proc/self/mountinfo"))
            listing = box.shell("ls -A /tmp; cat /proc/self/mountinfo").output().decode()
            self.assertNotIn("/tmp/0", listing)

    def test_what_cannot_be_mapped_is_named_when_writable_and_plain_when_not(self):
        box = self.box(mounts=[("/proc/sys/kernel", "rw")], hello=False)
        self.assertEqual(1, box.outside.wait(10 * PATIENCE))
        self.assertRegex(box.messages(), r"^ebb-init: cannot .*/proc/sys/kernel.*:ro.*: E[A-Z]+\n$")
        with self.a_box(mounts=[("/proc/sys/kernel", "ro")], options=["--ro-bind", "/tmp/0", "/mnt"]) as plain:
            self.assert_exited(plain.shell("cat /mnt/ostype"))

    def test_the_child_that_maps_ids_ends_with_us(self):
        def may_mount_only_in_a_namespace_and_gets_none():
            libc.prctl(24, 21)  # no CAP_SYS_ADMIN for what is executed
            forbid(272)

        box = self.box(mounts=[(self.source, "ro")], hello=False, before_exec=may_mount_only_in_a_namespace_and_gets_none)
        self.assertEqual(1, box.outside.wait(10 * PATIENCE))
        self.assertEqual("ebb-init: cannot make a user namespace for --mount: ENOSYS\n", box.messages())
        wait_until(lambda: reap_orphans() or not children(), what="the end of its child")
