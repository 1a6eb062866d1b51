/**
 * The Python functions that run an untrusted suite against a version of a program: the suite in a new process, the version in that of the
 * harness.
 *
 * A suite that could see the text or the byte code of a version could tell versions without calling them: what it has to find is one changed line.
 * So only calls reach the version. The suite's process is a new program, since a fork would keep in its memory what the harness had read. The kernel lets
 * no process of the same user look into one that is not dumpable.
 */
/** Modules of Python that not every build has: without one every suite would seem to crash. */
export const SUITE_MODULES = ["ctypes"] as const;
export const SUITE_VERDICT = "verdict_of_suites";
export const PASSED = "passed";
export const FAILED = "failed";

/** The suite's side. What `offer` defines goes between its two parts. */
const BEGIN = `import builtins, marshal, os, sys, types

incoming, outgoing = os.fdopen(3, "rb"), os.fdopen(4, "wb")


def ask(message):
    outgoing.write(marshal.dumps(message))
    outgoing.flush()
    return marshal.load(incoming)


def result_of(message):
    error, result = ask(message)
    if error is None:
        return result
    kind = getattr(builtins, error[0], None)
    known = isinstance(kind, type) and issubclass(kind, Exception)
    raise (kind if known else Exception)(*error[1])


suites, offered = marshal.load(incoming)
`;
const END = `

def verdict():
    given = offer(offered)
    tests = []
    try:
        for path, text in suites.items():
            space = {"__name__": "suite", **given}
            exec(compile(text, path, "exec"), space)
            tests += [value for key, value in list(space.items()) if key.startswith("test") and callable(value)]
        if not tests:
            return "no tests"
        for test in tests:
            test()
    except Exception:
        return "${FAILED}"
    return "${PASSED}"


ask(("verdict", verdict()))
`;

/**
 * Defines `verdict_of_suites(suites, offered, answer)`: a verdict for texts by path. `offer` is Python that defines `offer(offered)`, which gives the
 * suite's global names; what they call is `result_of(message)`, and `answer(message)` gives its result in the process of the version. A result may be an
 * exception that it raises.
 */
export function suiteProcess(offer: string): string {
  return `import fcntl, marshal, os

SUITE_PROCESS = ${JSON.stringify(`${BEGIN}\n\n${offer}\n${END}`)}
PR_SET_DUMPABLE = 4


def started_suite():
    import ctypes

    # Systems that have no sandbox have no such call.
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    answered, answers = os.pipe()
    asked, requests = os.pipe()
    if os.fork() == 0:
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            # First above all places, so that none is taken before it is read.
            ends = [fcntl.fcntl(one, fcntl.F_DUPFD, 16) for one in (nothing, nothing, nothing, answered, requests)]
            for place, end in enumerate(ends):
                os.dup2(end, place)
            os.execvp("python3", ["python3", "-I", "-S", "-c", SUITE_PROCESS])
        finally:
            os._exit(1)
    os.close(answered)
    os.close(requests)
    return os.fdopen(asked, "rb"), os.fdopen(answers, "wb")


def ${SUITE_VERDICT}(suites, offered, answer):
    asked, answers = started_suite()

    def send(message):
        answers.write(marshal.dumps(message))
        answers.flush()

    send((suites, offered))
    while True:
        message = marshal.load(asked)
        if message[0] == "verdict":
            return message[1]
        try:
            answered = (None, answer(message))
            marshal.dumps(answered)
        except Exception as error:
            answered = ((type(error).__name__, [str(one) for one in error.args]), None)
        send(answered)
`;
}
