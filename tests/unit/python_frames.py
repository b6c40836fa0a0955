"""What capture reads of this program's Python frames, compared with what Python says itself.

    python3 python_frames.py LIBRARY [time | TIMES]

LIBRARY is python_probe.c; TIMES is how often code is made again (100000). Ends with 77 when this interpreter is none
that is understood.
"""
import asyncio
import contextlib
import ctypes
import functools
import gc
import importlib
import os
import sys
import tempfile
import threading
import time

DEPTH = 256  # frames that are looked at
FUNCTION_BYTES, PATH_BYTES = 112, 472

with_lock = ctypes.PyDLL(sys.argv[1])
without_lock = ctypes.CDLL(sys.argv[1])
for library in with_lock, without_lock:
    library.probe_frames.restype = ctypes.c_char_p
    library.probe_learned.restype = ctypes.c_ulong
    library.probe_ns.restype = ctypes.c_double
    library.probe_is_interpreter.argtypes = [ctypes.c_void_p]
checked = 0
if without_lock.probe_open() != sys.hexversion:
    print("this interpreter is not understood:", sys.version)
    sys.exit(77)


def shorten(text, size, keep_end=False):
    """As capture keeps names: UTF-8 in size bytes with a 0; half pairs are no characters."""
    data = text.encode("utf-8", "replace")
    if len(data) < size:
        return data.decode("utf-8")
    room = size - 1 - 3
    if keep_end:
        return "..." + data[-room:].decode("utf-8", "ignore")
    return data[:room].decode("utf-8", "ignore") + "..."


def qualified(code):
    return code.co_qualname


def said_by_python(frame):
    frames = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith("<frozen importlib."):
            frames.append((shorten(qualified(code), FUNCTION_BYTES),
                           shorten(code.co_filename, PATH_BYTES, True), frame.f_lineno or 0,
                           code.co_firstlineno))
        frame = frame.f_back
    return frames[:DEPTH]


def read(library=without_lock):
    text = library.probe_frames().decode("utf-8")
    return [(f, p, int(line), int(first)) for f, p, line, first in
            (row.split("\t") for row in text.split("\n")[:-1])]


def here(library=without_lock):
    global checked
    got, wanted = read(library), said_by_python(sys._getframe())  # both of this line
    if not got or got[0][0] != "read":
        raise RuntimeError(f"not in read(): {got[:1]}")
    got, wanted = got[1:], wanted[:DEPTH - 1]
    for depth, (a, b) in enumerate(zip(got, wanted)):
        if a != b:
            raise SystemExit(f"frame {depth}: capture read {a}, Python says {b}")
    if len(got) != len(wanted):
        raise SystemExit(f"capture read {len(got)} frames, Python has {len(wanted)}:\n{got}\n{wanted}")
    checked += 1
    return True


def test_functions():
    assert here() and here(with_lock)
    got, line = without_lock.probe_frames(), sys._getframe().f_lineno
    assert got.decode().split("\t")[0] == "test_functions"
    assert int(got.decode().split("\t")[2]) == line
    for _ in range(3):
        (lambda: here())()
        [here() for _ in range(2)]
        {here(): here()}
        list(here() for _ in range(2))
    long_line = (1 +
                 2 +
                 here() +
                 here())
    assert long_line == 5


def recursion(depth):
    if depth == 0:
        return here() and here(with_lock)
    return recursion(depth - 1)


def even(depth):
    return here() if depth == 0 else odd(depth - 1)


def odd(depth):
    return even(depth - 1)


def test_recursion():
    recursion(10)
    even(20)
    sys.setrecursionlimit(5000)
    recursion(1000)
    even(1000)


def generator(n):
    for i in range(n):
        here()
        yield i
        here()


def delegating(n):
    here()
    yield from generator(n)
    here()


def test_generators():
    assert sum(delegating(5)) == 10
    assert sum(x for x in generator(3)) == 3
    g = generator(2)
    next(g)
    assert list(map(lambda x: here() and x, g)) == [1]
    g = delegating(2)
    next(g)
    with contextlib.suppress(ValueError):
        g.throw(ValueError("thrown in"))


async def coroutine(n):
    here()
    if n:
        await asyncio.sleep(0)
        await coroutine(n - 1)
    here()


async def asynchronous(n):
    for i in range(n):
        await asyncio.sleep(0)
        here()
        yield i


async def gather():
    await asyncio.gather(*(coroutine(n) for n in range(4)))
    async for _ in asynchronous(3):
        here()
    return [here() async for _ in asynchronous(2)]


def test_coroutines():
    asyncio.run(gather())


class Body:
    assert here()
    nested = [here() for _ in range(2)]

    class Inner:
        assert here()

        def method(self):
            return here()

        @property
        def attribute(self):
            return here()

        @staticmethod
        def static():
            return here()

        def __init__(self):
            here()

        def __del__(self):
            here()

        def __enter__(self):
            return here()

        def __exit__(self, *what):
            return not here()

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            return here()

        def __lt__(self, other):
            return here()

        def __iter__(self):
            here()
            yield from (here(), here())


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        here()
        return function(*arguments)
    return wrapper


@decorated
@decorated
def twice_decorated():
    return here()


def test_classes():
    for _ in range(20):  # often enough to be specialised by the interpreter
        inner = Body.Inner()
        inner.method()
        assert inner.attribute and inner.static() and inner.anything
        with inner:
            here()
        sorted([inner, Body.Inner()])
        assert list(inner)
        del inner
        twice_decorated()


def test_exceptions():
    def deep(n):
        if n == 0:
            here()
            raise ValueError("expected")
        deep(n - 1)
    for _ in range(3):
        try:
            deep(5)
        except ValueError:
            here()
        finally:
            here()
    try:
        try:
            deep(1)
        except ValueError as error:
            raise KeyError from error
    except KeyError:
        here()


def test_callbacks():
    functools.partial(here)()
    sorted([3, 1, 2], key=lambda x: here() and x)
    list(filter(lambda x: here(), range(3)))
    max(range(3), key=lambda x: here() and x)
    eval("here() and [here() for _ in range(2)]")
    function = ctypes.CFUNCTYPE(ctypes.c_char_p)
    seen = []
    for library in with_lock, without_lock:
        library.probe_through(function(lambda: seen.append(here()) and None))
        library.probe_through(function(lambda: seen.append(recursion(20)) and None))
    assert len(seen) == 4


def test_signals():
    import signal
    seen = []
    old = signal.signal(signal.SIGALRM, lambda *_: seen.append(here()))
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while not seen:
        for i in range(100):
            i * i
    signal.signal(signal.SIGALRM, old)


def test_tracing():
    def tracer(frame, event, argument):
        here()
        return tracer
    sys.settrace(tracer)
    try:
        sum(x for x in range(3))
    finally:
        sys.settrace(None)
    sys.setprofile(lambda *_: here() and None)
    try:
        sorted([2, 1])
        even(4)
    finally:
        sys.setprofile(None)
    here()


def test_instrumentation():
    if not hasattr(sys, "monitoring"):
        return
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.PROFILER_ID, "test")
    monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.LINE, lambda code, line: here() and None)
    monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.LINE)
    even(4)
    monitoring.set_events(monitoring.PROFILER_ID, 0)
    monitoring.free_tool_id(monitoring.PROFILER_ID)
    even(4)


def test_threads():
    failed = []

    def work(i):
        try:
            for _ in range(200):
                recursion(i)
                sum(delegating(i))
                here(with_lock)
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    for _ in range(50):  # new states where old ones were
        thread = threading.Thread(target=work, args=(1,))
        thread.start()
        thread.join()
    assert not failed, failed


def generated(i, name="generated"):
    """The same code at another line and in another file, so that only the tables tell it from the last one."""
    file = f"<made {i % 7}>"
    source = "\n" * (i % 5) + f"def {name}():\n" + "\n" * (i % 3) + "    return here()\n"
    space = {"here": here}
    exec(compile(source, file, "exec"), space)
    return space[name]


def test_made_again(times):
    for i in range(times):
        generated(i)()
        if i % 10 == 0:
            exec(compile("\n" * (i % 11) + "here()", "<string>", "exec"), {"here": here})
    kept = []
    for i in range(3000):  # code that stays, more of it than is remembered
        kept.append(generated(i, f"kept_{i % 1500}"))
        kept[-1]()
    for function in kept[::3]:
        function()


def test_same_place(times):
    """A code object where another was, that differs in one thing only, which is where the other's was, too."""
    base = compile("here()", "<a file with a name of some length>", "exec")
    table = compile("\nhere()", "<string>", "exec").co_linetable
    assert len(table) == len(base.co_linetable) and table != base.co_linetable
    tables = [bytearray(table), bytearray(base.co_linetable)]

    def again(part, value):
        code = base.replace(**{part: value})
        where = id(code), isinstance(value, int) or id(getattr(code, part))
        exec(code, {"here": here})
        return where
    for part, value in (("co_linetable", lambda i: bytes(tables[i % 2])),
                        ("co_filename", lambda i: f"<a file with a name of some {i % 2}ength>"),
                        ("co_filename", lambda i: f"<another file with a longer name {i % 2}>"),
                        ("co_qualname", lambda i: f"a name of some {i % 2}ength"),
                        ("co_firstlineno", lambda i: 300 + i % 2)):
        same = 0
        last = None
        for i in range(min(times, 5000)):
            where = again(part, value(i))
            # from 3.12 on code has a number, and what hangs on it need not be where the last one's was
            same += where == last or sys.version_info >= (3, 12) and last is not None and where[0] == last[0]
            last = where
        assert same > min(times, 5000) // 10, f"no code object took the place of another with another {part}"


def test_replaced_code():
    def function():
        return here()
    before = function.__code__
    for line in 10, 20, 30:
        function.__code__ = before.replace(co_firstlineno=line, co_name=f"renamed_{line}",
                                           co_qualname=f"test.renamed_{line}")
        function()
        function.__code__ = before
        function()


def test_names():
    for file in ("/tmp/ä/ü.py", "/tmp/世界.py", "/tmp/😀.py", "x" * 600 + ".py", "é" * 500, "", "a\tb".replace("\t", " "),
                 "half \udc80 pair"):
        exec(compile("here()", file, "exec"), {"here": here})
    space = {"here": here}
    exec("def größe():\n  return here()\ndef 名前():\n  return here()\ndef " + "f" * 300 + "():\n  return here()", space)
    space["größe"]()
    space["名前"]()
    space["f" * 300]()


def test_import():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "imported_here.py"), "w") as file:
            file.write("import builtins\n\nbuiltins.here_of_test()\n")
        import builtins
        builtins.here_of_test = here
        sys.path.insert(0, folder)
        importlib.import_module("imported_here")
        sys.path.pop(0)


def test_interpreter_module():
    address = ctypes.cast(ctypes.pythonapi.PyObject_Repr, ctypes.c_void_p).value
    assert without_lock.probe_is_interpreter(address) == 1
    own = ctypes.cast(without_lock.probe_frames, ctypes.c_void_p).value
    assert without_lock.probe_is_interpreter(own) == 0


def test_boundary():
    assert without_lock.probe_boundary() and with_lock.probe_boundary()
    assert sorted([1, 2], key=lambda x: without_lock.probe_boundary()) and recursion(3)


def test_remembered():
    def loop():
        for _ in range(2000):
            here()
            Body.Inner()  # from 3.13 on there are frames between that are never complete
    loop()
    before = without_lock.probe_learned()
    loop()
    assert without_lock.probe_learned() - before < 10, without_lock.probe_learned() - before


def test_without_state():
    """A thread that Python does not know has no frames, and nothing breaks."""
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, without_lock.probe_boundary, None) == 0
    result = ctypes.c_void_p()
    libc.pthread_join(thread, ctypes.byref(result))
    assert not result.value


def test_fork():
    process = os.fork()
    if process == 0:
        got = read()
        os._exit(0 if not got or (here() and recursion(5)) else 1)
    assert os.waitpid(process, 0)[1] == 0


def at_exit():
    here()


def time_depth(depth):
    if depth > 0:
        return time_depth(depth - 1)
    with_lock.probe_ns(10000)
    return min(with_lock.probe_ns(20000) for _ in range(9))


def main():
    if sys.argv[2:] == ["time"]:
        shallow, deep = time_depth(1), time_depth(101)
        print(f"{sys.version.split()[0]}: {shallow:.1f} ns at {4} frames, {(deep - shallow) / 100:.2f} ns a frame more")
        return 0
    times = int(sys.argv[2]) if sys.argv[2:] else 100000
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test(times) if name in ("test_made_again", "test_same_place") else test()
    gc.collect()
    import atexit
    atexit.register(at_exit)
    assert without_lock.probe_sources() > 100
    print(f"{sys.version.split()[0]}: {checked} stacks compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
