/**
 * The Python functions that run an untrusted suite against a version of a program: the suite in a process for itself, the version in that of the
 * harness.
 *
 * A suite that could see the text or the byte code of a version could tell versions without calling them: what it has to find is one changed line.
 * So only calls reach the version. The suite's process is forked before the harness reads the version, so it has nothing of it in its memory, and it
 * starts faster than a new interpreter. The kernel lets no process of the same user look into one that is not dumpable.
 */
/** Modules of Python that not every build has: without one every suite would seem to crash. */
export const SUITE_MODULES = ["ctypes"] as const;
export const SUITE_VERDICT = "verdict_of_suites";
export const PASSED = "passed";
export const FAILED = "failed";

/**
 * What runs before the arguments are read (`Exam.beforeCall`): it forks the suite's process, which waits for the texts. `offer` is Python that defines
 * `offer(offered)`, which gives the suite's global names; what they call is `result_of(message)`.
 */
export function suiteFork(offer: string): string {
  return `import builtins, fcntl, marshal, os, sys, types


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


${offer}


def verdict(suites, offered):
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


def run_suites(answered, requests):
    global incoming, outgoing
    nothing = os.open(os.devnull, os.O_RDWR)
    # First above all places, so that none is taken before it is read.
    ends = [fcntl.fcntl(one, fcntl.F_DUPFD, 16) for one in (nothing, nothing, nothing, answered, requests)]
    for place, end in enumerate(ends):
        os.dup2(end, place)
    # One of the others is the standard input of the harness, with the version.
    os.closerange(len(ends), os.sysconf("SC_OPEN_MAX"))
    incoming, outgoing = os.fdopen(3, "rb"), os.fdopen(4, "wb")
    ask(("verdict", verdict(*marshal.load(incoming))))


def forked_suite():
    answered, answers = os.pipe()
    asked, requests = os.pipe()
    if os.fork() == 0:
        try:
            run_suites(answered, requests)
        finally:
            os._exit(1)
    os.close(answered)
    os.close(requests)
    return os.fdopen(asked, "rb"), os.fdopen(answers, "wb")


SUITE_PROCESS = forked_suite()
`;
}

/**
 * Defines `verdict_of_suites(suites, offered, answer)` in a program behind `suiteFork`: a verdict for texts by path. `answer(message)` gives the result
 * of a message in the process of the version. A result may be an exception that it raises.
 */
export const SUITE_JUDGE = `import __main__, marshal

PR_SET_DUMPABLE = 4


def be_closed_to_others():
    import ctypes

    # Systems that have no sandbox have no such call.
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def ${SUITE_VERDICT}(suites, offered, answer):
    be_closed_to_others()
    asked, answers = __main__.SUITE_PROCESS

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
