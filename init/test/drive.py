"""Drives ebb-init as the engine does, and looks at the real process table.

Run as root: drive.py BINARY [end_test | end_test.EndTest.test_…]…
"""

import os
import sys
import unittest

from engine import become_engine, stop_being_engine


def main():
    if os.geteuid() != 0:
        sys.exit("run me as root: I make cgroups, and boxes of another uid")
    here = os.path.dirname(os.path.abspath(__file__))
    loader, names = unittest.defaultTestLoader, sys.argv[2:]
    tests = loader.loadTestsFromNames(names) if names else loader.discover(here, "*_test.py")
    become_engine()
    try:
        result = unittest.TextTestRunner(verbosity=2, warnings="ignore").run(tests)
    finally:
        stop_being_engine()
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
