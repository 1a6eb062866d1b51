/**
 * The program that runs published tests on an untrusted Python program.
 *
 * Both are text of one language that was made to run in one process, where the program could read the expected values, replace `all` or
 * return objects that equal everything. Here the program has a process for itself, which is forked before the tests arrive. It gets
 * arguments and gives results, and only plain values cross: what the tests compare was built by their own process. Whether they ran to their
 * end stands behind a word that the program's process never sees.
 *
 * The kernel lets no process of the same user look into one that is not dumpable, neither at its memory nor at its descriptors.
 */
export const HARNESS_FILE = "tests_harness.py";
export const PROGRAM_FILE = "main.py";

/** Standard input: JSON with `word`, `tests` and `names`, the names of the program that tests use. The last line: the word and a verdict. */
export const HARNESS = `import json, os, sys


def end(request, verdict):
    sys.stdout.flush()
    os.write(1, ("\\n" + request["word"] + " " + verdict + "\\n").encode())
    os._exit(0)


try:
    import builtins, collections, ctypes, decimal, fractions, importlib, signal, types
except ImportError as error:
    # Some builds of Python have no ctypes. That is no wrong answer.
    end(json.loads(sys.stdin.buffer.read()), "lacks " + str(error.name))

PR_SET_DUMPABLE = 4
VIEWS = (type({}.keys()), type({}.items()), type({}.values()))


class Held:
    """An object that only the program's process has."""

    def __init__(self, number, truth):
        self.number, self.truth = number, truth

    def __bool__(self):
        return self.truth


class Unsupported(Exception):
    pass


def encode(value, hold):
    many = lambda values: [encode(one, hold) for one in values]
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, list):
        return many(value)
    if isinstance(value, tuple):
        return {"tuple": many(value)}
    if isinstance(value, dict):
        return {"dict": [many(pair) for pair in value.items()]}
    if isinstance(value, (set, frozenset, collections.deque)):
        kind = next(one for one in (set, frozenset, collections.deque) if isinstance(value, one))
        return {kind.__name__: many(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value)}
    if isinstance(value, fractions.Fraction):
        return {"fraction": [value.numerator, value.denominator]}
    if isinstance(value, VIEWS):
        return {"view": [VIEWS.index(type(value)), many(value)]}
    if isinstance(value, Held):
        return {"held": [value.number, value.truth]}
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return encode(value.item(), hold)
    if hasattr(value, "__next__"):
        return {"iterator": many(value)}
    return {"held": hold(value)}


def view(index, values):
    if index == 0:
        return dict.fromkeys(values).keys()
    return dict(values).items() if index == 1 else dict(enumerate(values)).values()


def decode(value, held):
    if isinstance(value, list):
        return [decode(one, held) for one in value]
    if not isinstance(value, dict):
        return value
    ((tag, inner),) = value.items()
    if tag == "held":
        return held(*inner)
    if tag == "bytes":
        return bytes.fromhex(inner)
    inner = decode(inner, held)
    if tag == "view":
        return view(*inner)
    if tag in ("complex", "range", "fraction"):
        return {"complex": complex, "range": range, "fraction": fractions.Fraction}[tag](*inner)
    kinds = {
        "tuple": tuple,
        "dict": dict,
        "set": set,
        "frozenset": frozenset,
        "deque": collections.deque,
        "decimal": decimal.Decimal,
        "iterator": iter,
    }
    return kinds[tag](inner)


class Line:
    """Messages to another process and back, one a line."""

    def __init__(self, incoming, outgoing):
        self.incoming, self.outgoing = os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb")

    def send(self, message):
        self.outgoing.write(json.dumps(message).encode() + b"\\n")
        self.outgoing.flush()

    def receive(self):
        return json.loads(self.incoming.readline())


def serve(line):
    """Runs the program, then what the tests call."""
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    space, objects = module.__dict__, []

    def hold(value):
        objects.append(value)
        return [len(objects) - 1, bool(value)]

    with open("${PROGRAM_FILE}", encoding="utf-8") as file:
        source = file.read()
    exec(compile(source, "${PROGRAM_FILE}", "exec", dont_inherit=True), space)
    modules = [name for name, value in space.items() if isinstance(value, types.ModuleType)]
    line.send({"callable": [name for name, value in space.items() if callable(value)], "modules": modules})
    while True:
        name, values, named = decode(line.receive(), lambda number, truth: objects[number])
        try:
            result = encode(space[name](*values, **named), hold)
        except Exception as error:
            line.send({"raised": [type(error).__name__, [str(one) for one in error.args]]})
            continue
        line.send({"result": result})


def started():
    """The program in a process that has neither the tests nor our descriptors."""
    asked, requests = os.pipe()
    answered, answers = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            os.close(requests)
            os.close(answered)
            serve(Line(asked, answers))
        finally:
            os._exit(0)
    os.close(asked)
    os.close(answers)
    return child, Line(answered, requests)


def refuse(value):
    raise Unsupported(type(value).__name__)


def stand_in(name, line):
    def call(*values, **named):
        line.send([name, encode(list(values), refuse), encode(named, refuse)])
        answer = line.receive()
        if "raised" in answer:
            kind, texts = answer["raised"]
            kind = getattr(builtins, kind, None)
            known = isinstance(kind, type) and issubclass(kind, Exception)
            raise (kind if known else Exception)(*map(str, texts))
        return decode(answer["result"], lambda number, truth: Held(int(number), bool(truth)))

    return call


def space_of(ready, names, line):
    """What the tests find of the program: their own names of it, and modules of the standard library."""
    space = {"__name__": "tests"}
    for name in ready["modules"]:
        if name in getattr(sys, "stdlib_module_names", ()) and not hasattr(builtins, name):
            space[name] = importlib.import_module(name)
    space.update((name, stand_in(name, line)) for name in names if name in ready["callable"])
    return space


def verdict_of(request, line):
    try:
        space = space_of(line.receive(), request["names"], line)
        exec(compile(request["tests"], "tests.py", "exec", dont_inherit=True), space)
    except Unsupported as error:
        return "unsupported " + str(error)
    except ModuleNotFoundError as error:
        # One that the program has raised names no module.
        return "failed" if error.name is None else "lacks " + error.name
    except BaseException:
        return "failed"
    return "passed"


def main():
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    getattr(sys, "set_int_max_str_digits", int)(0)
    child, line = started()
    # The program may write modules beside itself.
    sys.path.pop(0)
    request = json.loads(sys.stdin.buffer.read())
    verdict = verdict_of(request, line)
    os.kill(child, signal.SIGKILL)
    end(request, verdict)


main()
`;
