"""What Python itself says of the functions of extension modules: for each its file, offset and names, as
test_methods reads them. By CPython's own structures, in memory."""
import ctypes
import importlib
import sys

POINTER = ctypes.c_void_p
WORD = ctypes.sizeof(POINTER)
HEAP_TYPE = 1 << 9


def word(address):
    return POINTER.from_address(address).value or 0


def bases():
    found = {}
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].startswith("/"):
                low = int(fields[0].split("-")[0], 16)
                path = fields[5].strip()
                found[path] = min(found.get(path, low), low)
    return found


def functions(module, name):
    for key, item in vars(module).items():
        if type(item).__name__ == "builtin_function_or_method":  # PyCFunctionObject: m_ml
            yield word(word(id(item) + 2 * WORD) + WORD), f"{name}.{key}", 0
        elif isinstance(item, type) and item.__module__ == module.__name__:
            for member, value in vars(item).items():
                if type(value).__name__ in ("method_descriptor", "getset_descriptor"):
                    # d_method, d_getset: behind the descriptor's common part, name first
                    definition = word(id(value) + 5 * WORD)
                    kind = "spec" if item.__flags__ & HEAP_TYPE else "type"
                    yield word(definition + WORD), f"{name}.{item.__name__}.{member}", kind


for wanted in sys.argv[1:]:
    try:
        module = importlib.import_module(wanted)
    except ImportError:
        continue
    path = getattr(module, "__file__", None)
    base = bases().get(path)
    if not base:
        continue
    for address, name, kind in functions(module, wanted.split(".")[-1]):
        if base <= address < base + (1 << 28):
            print(path, address - base, kind or "module", name)
