/** The program that runs an untrusted suite against an implementation. */
import { SUITE_JUDGE, SUITE_VERDICT, suiteFork } from "../suite-process.ts";

export { FAILED, PASSED, SUITE_MODULES } from "../suite-process.ts";
export const VERDICT = "verdict_of_the_suite";

/** Calls of the function, or of the methods of objects, as messages. Lists that a call changes are changed here, too. */
const OFFER = `def offer(offered):
    name, methods = offered

    def call(number, method, values, named):
        error, result, after = result_of((number, method, values, named))
        for value, changed in zip(values, after):
            if isinstance(value, list):
                value[:] = changed
        if error is not None:
            raise getattr(builtins, error[0], Exception)(*error[1])
        return result

    def method_of(key):
        return lambda self, *values, **named: call(self._number, key, values, named)

    def begin(self, *values, **named):
        self._number = call(0, None, values, named)

    if methods is None:
        return {name: lambda *values, **named: call(0, None, values, named)}
    return {name: type(name, (), {"__init__": begin, **{key: method_of(key) for key in methods}})}`;

export const BEFORE_CALL = suiteFork(OFFER);

/**
 * Runs the suite on one implementation. Nothing here says whether it is a right one: both kinds are printed in drawn styles, and only the process that
 * grades knows which verdict is expected.
 */
export function runner(suite: string, name: string): string {
  return `${SUITE_JUDGE}

SUITE = ${JSON.stringify(suite)}
NAME = "${name}"


def ${VERDICT}(sources):
    space, objects, methods = {"__name__": "subject"}, [], None
    exec(compile(sources.pop(), "subject.py", "exec"), space)
    subject = space[NAME]
    if isinstance(subject, type):
        methods = [key for key, value in vars(subject).items() if callable(value) and not key.startswith("_")]

    def answer(message):
        number, method, values, named = message
        try:
            if method is not None and method not in methods:
                raise AttributeError(method)
            result = (subject if method is None else getattr(objects[number], method))(*values, **named)
        except Exception as error:
            return (type(error).__name__, [str(one) for one in error.args]), None, values
        if methods is not None and method is None:
            objects.append(result)
            result = len(objects) - 1
        try:
            marshal.dumps(result)
        except ValueError:
            return None, repr(result), ()
        return None, result, values

    return ${SUITE_VERDICT}({"suite.py": SUITE}, (NAME, methods), answer)
`;
}
