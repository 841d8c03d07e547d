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

    def reopen(number, name, mode):
        # As the interpreter itself opens it: what is known of one file does not hold for another.
        import io
        old = getattr(sys, name)
        raw = io.open(number, mode + "b", -1, closefd=False)
        raw.raw.name = "<" + name + ">"
        text = io.TextIOWrapper(raw, old.encoding, old.errors, "\n", old.line_buffering)
        text.mode = mode
        setattr(sys, name, text)
        setattr(sys, "__" + name + "__", text)

    def read_nothing():
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)
        reopen(0, "stdin", "r")

    status = []  # of the program, once it is known
    kept = []  # objects no longer needed; freeing them would write to their pages

    def finish():
        # The end of a copy, as the interpreter ends, but for what was there before the program: taking that apart would
        # copy all of it first. Whatever is out of the ordinary is left to the interpreter.
        if len(status) != 1 or not kept:
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            return
        # ORDER: once before anything is taken apart, as the interpreter does. What was never looked at is finalised in
        # the order it was made in: a file before what is still to be written to it.
        collect()
        forget()
        for name in "stdin", "stdout", "stderr":
            setattr(sys, name, getattr(sys, "__" + name + "__"))
        sys.last_type = sys.last_value = sys.last_traceback = None
        if hasattr(sys, "last_exc"):
            sys.last_exc = None
        left = []
        for name in [name for name in sys.modules if name == "__main__" or name not in present]:
            module = sys.modules.pop(name)
            if type(module) is type(sys):
                left.append(sys.modules["_weakref"].ref(module))
        module = None
        collect()
        for reference in reversed(left):
            names = getattr(reference(), "__dict__", {})
            for first in True, False:
                for name in list(names):
                    if name != "__builtins__" and (not first or (name[:1] == "_" and name[1:2] != "_")):
                        names[name] = None
        names = None
        collect()
        write_out()
        for stream in sys.stdout, sys.stderr:
            try:
                stream.flush()
            except BaseException:
                pass
        leave(status[0])

    def write_out():
        # What a program has left where it outlives it: in a module that was there before, as a handler.
        for kinds in texts, buffers:
            for each in objects():
                if issubclass(type(each), kinds):
                    try:
                        each.flush()
                    except BaseException:
                        pass

    def borrow(name):
        # Imports a module that the program must not find loaded.
        had = name in sys.modules
        module = __import__(name)
        if not had:
            del sys.modules[name]
        return module

    def serve():
        # See init/make/zygote.c. What comes after it happens in a box, in the first process but init.
        # What watches for a fork, as a pool of threads does, ends these before it.
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        collect()
        freeze()
        spec = type(sys.__spec__)("ebb", None, origin="/tmp/ebb-zygote.so")
        try:
            sys.modules["_imp"].create_dynamic(spec)
        except ImportError as told:
            if told.args != ("resumed",):
                raise
        leave = sys._ebb_leave
        del sys._ebb_leave
        return leave

    def renew():
        import _signal
        # Init has none of these.
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
        _signal.signal(_signal.SIGXFSZ, _signal.SIG_IGN)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        for number, name, mode in (0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w"):
            reopen(number, name, mode)
        # What is random, and was drawn before there was a box. The module random sees to itself.
        modules = sys.modules
        if "numpy.random" in modules:
            modules["numpy.random"].seed()
        if "multiprocessing.process" in modules:
            process = modules["multiprocessing.process"].current_process()
            process.authkey = os.urandom(32)
        if "uuid" in modules:
            modules["uuid"]._node = modules["uuid"]._last_timestamp = None
        if "tempfile" in modules:
            modules["tempfile"]._name_sequence = None
            modules["tempfile"].tempdir = None

    def read(name):
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        data = b""
        while more := os.read(file, 1 << 20):
            data += more
        os.close(file)
        return data

    def rehearse():
        # What a copy touches for the first time is copied then, page by page, 4 us each. So it does once what each
        # program does, while no process waits for it.
        import io
        file = io.open(os.devnull, "w")
        names = {"__builtins__": __builtins__}
        text = read(os.devnull).decode() + "def f(x):\n    return str(x)\nx = [f(1 + 1)]\n"
        exec(compile(text, "<string>", "exec", dont_inherit=True), names)
        print(names["x"][0], 1, file=file, flush=True)
        file.close()
        [name for name in sys.modules if name == "__main__" or name not in present]
        names = text = None
        collect()
        collect()

    is_zygote = sys.argv[1] == "forkserver"
    if is_zygote:
        atexit, gc, io = borrow("atexit"), borrow("gc"), sys.modules["io"]
        atexit.register(finish)  # before whatever is imported does: the last
        forget, collect, freeze, objects = atexit._clear, gc.collect, gc.freeze, gc.get_objects
        texts, buffers = io.TextIOWrapper, (io.BufferedWriter, io.BufferedRandom)
        del atexit, gc, io
    ahead = set(sys.modules)
    for name in sys.argv[2:]:
        __import__(name)
    ahead = {name.partition(".")[0] for name in sys.modules if name not in ahead}
    if is_zygote:
        leave = serve()
        renew()
        present = set(sys.modules)
    # All that does not need the order comes before it.
    sys.orig_argv[1:] = []
    main = sys.modules["__main__"].__dict__
    del main["ebb"]
    if is_zygote:
        # One that the collector of garbage, which leaves alone what was there before, can find.
        module = sys.modules["__main__"] = type(sys)("__main__")
        module.__dict__.update(main)
        main = module.__dict__
        del module
        kept += call, take, reopen, read_nothing, serve, renew, rehearse, read
        frame = sys._getframe(1)
        while frame:
            kept.append(frame.f_code)
            frame = frame.f_back
        rehearse()
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
        if name == "PYTHONDONTWRITEBYTECODE":
            sys.dont_write_bytecode = value != ""
    sys.orig_argv += arguments
    if ahead and not ahead.isdisjoint([name.partition(".")[0] for name in os.listdir()]):
        # Beside the program there is one of the same name as a module that was imported ahead of it, which goes first.
        os.execv(sys.executable, sys.orig_argv)
    if arguments[0] == "-c":
        sys.argv[:] = ["-c", *arguments[2:]]
        code, name = arguments[1] + "\n", "<string>"
    else:
        sys.argv[:] = arguments
        name = os.getcwd() + "/" + arguments[0]
        try:
            code = read(name)
            code.decode()
            if 0 in code:
                raise ValueError
        except (OSError, ValueError):
            # An archive, compiled code, another encoding; or it says what is wrong in its own words.
            os.execv(sys.executable, sys.orig_argv)
        sys.path[0] = os.getcwd()
        main["__file__"] = name
        main["__cached__"] = None
        main["__loader__"] = sys.modules["_frozen_importlib_external"].SourceFileLoader("__main__", name)
    program = None
    try:
        program = compile(code, name, "exec", dont_inherit=True)
        exec(program, main)
        status.append(0)
    except SystemExit as told:
        if told.code is None or (type(told.code) is int and abs(told.code) < 1 << 31):
            status.append((told.code or 0) & 255)
        raise
    except BaseException as cause:
        told = sys.excepthook
        if told is sys.__excepthook__ and not isinstance(cause, KeyboardInterrupt):
            status.append(1)

        def tell(kind, value, trace):
            sys.excepthook = told
            while trace is not None and trace.tb_frame.f_code is not program:
                trace = trace.tb_next
            sys.last_traceback = value.__traceback__ = trace
            told(kind, value, trace)

        sys.excepthook = tell
        raise


# Not in the name space of the program, which ends before us.
type(ebb)(ebb.__code__, {"__builtins__": __builtins__})()
