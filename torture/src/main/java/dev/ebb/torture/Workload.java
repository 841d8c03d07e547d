package dev.ebb.torture;

import java.util.List;
import java.util.Locale;

/** Hostile or careless code that runs in a box. */
enum Workload {
  QUIET("sleep 60", Shell.SH),
  FORK_BOMB(
      """
      import os, time
      while True:
          try:
              if os.fork() == 0:
                  os.setsid()
          except OSError:
              time.sleep(0.3)
      """,
      Shell.PYTHON),
  DOUBLE_FORK_DAEMONS(
      """
      import os, time
      for _ in range(6):
          if os.fork() == 0:
              os.setsid()
              if os.fork() == 0:
                  time.sleep(60)
              os._exit(0)
      time.sleep(0.2)
      """,
      Shell.PYTHON),
  TERM_IGNORERS("trap '' TERM INT HUP; (while :; do sleep 1; done) & while :; do sleep 1; done"),
  STOPPED_TREE("sleep 60 & sleep 60 & kill -STOP $! ; (sleep 60 & kill -STOP $$); kill -STOP $$"),
  ZOMBIE_FACTORY(
      """
      import os, time
      for _ in range(30):
          if os.fork() == 0:
              os._exit(0)
      time.sleep(60)
      """,
      Shell.PYTHON),
  OUTPUT_FLOOD("while :; do echo flood; echo flood >&2; done"),
  MEMORY_HOG(
      """
      import time
      hog = []
      while True:
          hog.append(bytearray(4 << 20))
          time.sleep(0.002)
      """,
      Shell.PYTHON),
  DISK_FILL("cat /dev/zero >/workspace/full; cat /dev/zero >/tmp/full; sleep 60"),
  FD_HOG(
      """
      import os, time
      held = []
      try:
          while True:
              held += os.pipe()
      except OSError:
          time.sleep(60)
      """,
      Shell.PYTHON),
  THREAD_BOMB(
      """
      import threading, time
      try:
          while True:
              threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
      except Exception:
          time.sleep(60)
      """,
      Shell.PYTHON),
  ODD_FILES(
      """
      import os, socket
      os.chdir('/workspace')
      for name in ['new\\nline', '-rf', ' ', '\\x1b[2J', 'a' * 255]:
          open(name, 'w').close()
      os.mkfifo('fifo')
      held = socket.socket(socket.AF_UNIX)
      held.bind('socket')
      held.listen()
      os.symlink('loop', 'loop')
      os.link('fifo', 'hard')
      try:
          os.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 1 << 40)
      except OSError:
          pass
      os.mkdir('closed', 0)
      for _ in range(200):
          os.mkdir('d' * 100)
          os.chdir('d' * 100)
      os.read(os.open('/workspace/fifo', os.O_RDWR), 1)
      """,
      Shell.PYTHON),
  SHARED_MEMORY(
      "for i in 1 2 3; do ipcmk -M 4096 -S 1 -Q; head -c 100000 /dev/zero >/dev/shm/$i; done;"
          + " sleep 60"),
  LISTENERS(
      """
      import socket, time
      held = [socket.socket() for _ in range(5)]
      for each in held:
          each.bind(('127.0.0.1', 0))
          each.listen()
      time.sleep(60)
      """,
      Shell.PYTHON);

  private enum Shell {
    SH("sh"),
    PYTHON("python3");

    private final String program;

    Shell(String program) {
      this.program = program;
    }
  }

  private final String script;
  private final Shell shell;

  Workload(String script) {
    this(script, Shell.SH);
  }

  Workload(String script, Shell shell) {
    this.script = script;
    this.shell = shell;
  }

  List<String> command() {
    return List.of(shell.program, "-c", script);
  }

  boolean needsPython() {
    return shell == Shell.PYTHON;
  }

  String wireName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
