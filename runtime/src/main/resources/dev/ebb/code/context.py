# Runs the cells of a context. Orders and answers go by the line, a socket that was our stdin: see Context and Frames.
def ebb():
    import ast, builtins, fcntl, linecache, os, signal, sys, types

    # --- the line ---

    line = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    me = os.getpid()
    nobody = b"0" * 16
    show_most = 16 << 20

    class State:
        nonce = nobody
        number = 0
        shown = 0
        armed = False  # an interrupt is for the code
        sending = False  # … but not in the middle of a frame
        pending = False

    state = State()

    def send(kind, body=b""):
        if os.getpid() != me:
            return  # a copy of us, which has no say
        state.sending = True
        try:
            data = memoryview(b"%s %s %d\n" % (state.nonce, kind, len(body)) + body)
            while data:
                data = data[os.write(line, data) :]
        except OSError:
            os._exit(70)  # it was closed, or we were left alone
        finally:
            state.sending = False
        if state.pending:
            state.pending = False
            raise KeyboardInterrupt

    def interrupted(number, frame):
        if not state.armed or os.getpid() != me:
            return
        if state.sending:
            state.pending = True
        else:
            raise KeyboardInterrupt

    buffer = bytearray()

    def take():
        # Words, each with a NUL behind it: nonce, number of variables, variables, code.
        while True:
            words = buffer.split(b"\0")
            if len(words) > 2 and len(words) > int(words[1]) + 3:
                count = 3 + int(words[1])
                del buffer[: sum(map(len, words[:count])) + count]
                return words[:count]
            more = os.read(line, 1 << 16)
            if not more:
                os._exit(0)
            buffer.extend(more)

    # --- what is shown ---

    methods = (
        ("text/html", "_repr_html_"),
        ("text/markdown", "_repr_markdown_"),
        ("image/png", "_repr_png_"),
        ("image/jpeg", "_repr_jpeg_"),
        ("image/svg+xml", "_repr_svg_"),
        ("application/json", "_repr_json_"),
        ("text/latex", "_repr_latex_"),
    )
    known = {kind for kind, _ in methods} | {"text/plain"}

    def encode(kind, value):
        if isinstance(value, tuple):  # with metadata
            value = value[0]
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        if kind.startswith("image/") and kind != "image/svg+xml":
            import base64
            return base64.b64decode(value)
        if kind == "application/json" and not isinstance(value, str):
            import json
            value = json.dumps(value)
        return str(value).encode("utf-8", "replace")

    def forms(value):
        found = {}
        if callable(getattr(type(value), "_repr_mimebundle_", None)):
            told = value._repr_mimebundle_(include=None, exclude=None)
            told = told[0] if isinstance(told, tuple) else told
            for kind, form in (told or {}).items():
                if kind in known and form is not None:
                    found[kind] = encode(kind, form)
        for kind, name in methods:
            # Of its type: some answer to any name.
            if kind not in found and callable(getattr(type(value), name, None)):
                try:
                    form = getattr(value, name)()
                    if form is not None:
                        found[kind] = encode(kind, form)
                except Exception as cause:
                    sys.stderr.write("%s: %s\n" % (name, "".join(describe(cause))))
        if "text/plain" not in found:
            found["text/plain"] = repr(value).encode("utf-8", "replace")
        return found

    def show(kind, found):
        sys.stdout.flush()
        size = sum(map(len, found.values()))
        if state.shown + size > show_most:
            send(b"cut")
            return
        state.shown += size
        for form, body in found.items():
            send(b"form", form.encode() + b"\0" + body)
        send(kind)

    def figure_of(value):
        # Of matplotlib, without importing it.
        module = sys.modules.get("matplotlib.figure")
        return module is not None and isinstance(value, module.Figure)

    def png(figure):
        import io
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight")
        return out.getvalue()

    def display(*values, **raw):
        for value in values:
            if raw.get("raw") and isinstance(value, dict):
                found = {k: encode(k, v) for k, v in value.items() if k in known}
            elif figure_of(value):
                found = {"image/png": png(value), "text/plain": repr(value).encode()}
            else:
                found = forms(value)
            show(b"display", found)

    def show_figures(*_, **__):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not hasattr(pyplot, "get_fignums"):
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            show(b"display", {"image/png": png(figure), "text/plain": repr(figure).encode()})
        pyplot.close("all")

    class Figures:
        # A back end of matplotlib: its figures are shown when asked, or when the cell is over.
        @staticmethod
        def find_spec(name, path=None, target=None):
            return type(sys.__spec__)(name, Figures) if name == "ebb_figures" else None

        @staticmethod
        def create_module(spec):
            return None

        @staticmethod
        def exec_module(module):
            from matplotlib import backend_bases
            from matplotlib.backends import backend_agg
            module.FigureCanvas = backend_agg.FigureCanvasAgg
            module.FigureManager = backend_bases.FigureManagerBase
            module.show = show_figures

    sys.meta_path.append(Figures)
    os.environ.setdefault("MPLBACKEND", "module://ebb_figures")
    builtins.display = display

    # --- cells ---

    class Loop:
        loop = None

    def run(code, space):
        value = eval(code, space)
        if code.co_flags & 0x80:  # it awaits something
            import asyncio
            if Loop.loop is None:
                Loop.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(Loop.loop)
            task = Loop.loop.create_task(value)
            try:
                return Loop.loop.run_until_complete(task)
            except BaseException:
                task.cancel()
                try:
                    Loop.loop.run_until_complete(task)
                except BaseException:
                    pass
                raise
        return value

    def execute(text, name):
        tree = ast.parse(text, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not text.rstrip().endswith(";"):
            last = ast.Expression(tree.body.pop().value)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        run(compile(tree, name, "exec", flags, dont_inherit=True), space)
        if last is not None:
            value = run(compile(last, name, "eval", flags, dont_inherit=True), space)
            if value is not None:
                space["_"] = value
                if figure_of(value):
                    pass  # it comes with the figures, or was shown
                else:
                    show(b"result", forms(value))
        show_figures()

    def describe(cause):
        # As python itself does, but for frames of ours.
        import traceback
        trace = cause.__traceback__
        while trace is not None and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
            trace = trace.tb_next
        told = traceback.TracebackException(type(cause), cause, trace, compact=True)
        chain = [told]
        for each in chain:
            each.stack[:] = [frame for frame in each.stack if frame.filename != "<ebb>"]
            chain.extend(filter(None, (each.__cause__, each.__context__)))
            chain.extend(getattr(each, "exceptions", None) or ())
        return "".join(told.format())

    def tell(cause):
        words = [type(cause).__qualname__]
        for word in str, describe:
            try:
                words.append(word(cause))
            except BaseException:
                words.append("")
        body = "\0".join(word.replace("\0", " ")[: 80 << 10] for word in words)
        send(b"error", body.encode("utf-8", "replace"))

    def cell(text, name):
        # Whether it is "ok", in one word. SystemExit is the end of the interpreter, as everywhere.
        try:
            try:
                state.armed = True  # before it is reported as interruptible
                send(b"begun")
                execute(text, name)
            finally:
                state.armed = False
            return b"ok"
        except SystemExit:
            raise
        except BaseException as cause:
            state.armed = state.pending = False
            if os.getpid() != me:
                sys.stderr.write(describe(cause))
                return b"error"
            tell(cause)
            return b"interrupted" if type(cause) is KeyboardInterrupt else b"error"

    def flush():
        for stream in sys.stdout, sys.stderr:
            try:
                stream.flush()
            except BaseException:
                pass

    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    space = main.__dict__
    sys.argv[:] = [""]
    sys.path[0] = ""
    signal.signal(signal.SIGINT, interrupted)
    sys.stdout.reconfigure(line_buffering=True)
    send(b"ready")
    while True:
        nonce, _, *variables, code = take()
        state.nonce, state.shown = bytes(nonce), 0
        state.number += 1
        changed = {}
        for each in variables:
            key, _, value = os.fsdecode(bytes(each)).partition("=")
            changed[key] = os.environ.get(key)
            os.environ[key] = value
        name = "<cell %d>" % state.number
        text = code.decode("utf-8", "surrogateescape")
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        word = cell(text, name)
        if os.getpid() != me:
            flush()
            os._exit(word != b"ok")
        for key, value in changed.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        flush()
        send(b"done", word)


type(ebb)(ebb.__code__, {"__builtins__": __builtins__})()
