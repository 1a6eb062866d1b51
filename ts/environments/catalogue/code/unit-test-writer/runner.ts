/** The program that runs an untrusted suite against an implementation. */

export const VERDICT = "verdict_of_the_suite";
export const PASSED = "passed";
export const FAILED = "failed";

/**
 * Runs the suite on one implementation. Nothing here says whether it is a right one: both kinds are printed in drawn styles, and only this
 * process knows which verdict is expected. The implementation runs in a process for itself, and what the suite calls only carries arguments
 * and results: its text and its code object have numbers that tell more than calls do.
 */
export function runner(suite: string, name: string): string {
  return `import builtins, marshal, os

SUITE = ${JSON.stringify(suite)}
NAME = "${name}"


def reply(answers, error, result, values):
    try:
        data = marshal.dumps((error, result, values))
    except ValueError:
        data = marshal.dumps((error, repr(result), ()))
    answers.write(data)
    answers.flush()


def serve(source, requests, answers):
    space = {"__name__": "subject"}
    exec(compile(source, "subject.py", "exec"), space)
    subject, objects, methods = space[NAME], [], None
    if isinstance(subject, type):
        methods = [key for key, value in vars(subject).items() if callable(value) and not key.startswith("_")]
    reply(answers, None, methods, ())
    while True:
        number, method, values, named = marshal.load(requests)
        try:
            if method is not None and method not in methods:
                raise AttributeError(method)
            result = (subject if method is None else getattr(objects[number], method))(*values, **named)
        except Exception as error:
            reply(answers, (type(error).__name__, [str(one) for one in error.args]), None, values)
            continue
        if methods is not None and method is None:
            objects.append(result)
            result = len(objects) - 1
        reply(answers, None, result, values)


def stand_in(requests, answers):
    def ask(number, method, values, named):
        requests.write(marshal.dumps((number, method, values, named)))
        requests.flush()
        error, result, after = marshal.load(answers)
        for value, changed in zip(values, after):
            if isinstance(value, list):
                value[:] = changed
        if error is not None:
            raise getattr(builtins, error[0], Exception)(*error[1])
        return result

    def method_of(key):
        return lambda self, *values, **named: ask(self._number, key, values, named)

    def begin(self, *values, **named):
        self._number = ask(0, None, values, named)

    methods = marshal.load(answers)[1]
    if methods is None:
        return lambda *values, **named: ask(0, None, values, named)
    return type(NAME, (), {"__init__": begin, **{key: method_of(key) for key in methods}})


def started(sources):
    requests, asked = os.pipe()
    answered, answers = os.pipe()
    if os.fork() == 0:
        try:
            os.close(asked)
            os.close(answered)
            serve(sources.pop(), os.fdopen(requests, "rb"), os.fdopen(answers, "wb"))
        finally:
            os._exit(0)
    sources.clear()
    os.close(requests)
    os.close(answers)
    return stand_in(os.fdopen(asked, "wb"), os.fdopen(answered, "rb"))


def ${VERDICT}(sources):
    space = {"__name__": "suite", NAME: started(sources)}
    try:
        exec(compile(SUITE, "suite.py", "exec"), space)
        tests = [value for key, value in list(space.items()) if key.startswith("test") and callable(value)]
        if not tests:
            return "no tests"
        for test in tests:
            test()
    except Exception:
        return "${FAILED}"
    return "${PASSED}"
`;
}
