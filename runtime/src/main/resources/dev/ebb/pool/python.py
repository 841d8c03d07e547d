def ebb():
    import os, sys

    def call(name):
        comm = os.open("/proc/self/comm", os.O_RDWR)
        before = os.read(comm, 64)
        os.write(comm, name)
        os.close(comm)
        return before.rstrip(b"\n")

    def take(size):
        data = b""
        while len(data) < size:
            more = os.read(0, size - len(data))
            if not more:
                os._exit(0)
            data += more
        return data

    def read_nothing():
        # As the interpreter itself opens it: what is known of a pipe does not hold for this.
        import io
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)
        old = sys.stdin
        raw = io.open(0, "rb", -1, closefd=False)
        raw.raw.name = "<stdin>"
        text = io.TextIOWrapper(raw, old.encoding, old.errors, "\n", old.line_buffering)
        text.mode = "r"
        sys.stdin = sys.__stdin__ = text

    for name in sys.argv[1:]:
        __import__(name)
    mine = call(b"ebb-waiting")
    words = take(int.from_bytes(take(4), "little")).decode("utf-8", "surrogateescape").split("\0")
    call(mine)
    count = int(words[1])
    arguments = words[2 : 2 + count]
    if not words[0]:
        read_nothing()
    for line in words[2 + count :]:
        name, _, value = line.partition("=")
        os.environ[name] = value
    sys.argv[:] = ["-c", *arguments[1:]]
    sys.orig_argv[:] = [sys.orig_argv[0], "-c", *arguments]
    main = sys.modules["__main__"].__dict__
    del main["ebb"]
    program = None
    try:
        program = compile(arguments[0] + "\n", "<string>", "exec", dont_inherit=True)
        exec(program, main)
    except SystemExit:
        raise
    except BaseException:
        told = sys.excepthook

        def tell(kind, value, trace):
            sys.excepthook = told
            while trace is not None and trace.tb_frame.f_code is not program:
                trace = trace.tb_next
            sys.last_traceback = value.__traceback__ = trace
            told(kind, value, trace)

        sys.excepthook = tell
        raise


ebb()
