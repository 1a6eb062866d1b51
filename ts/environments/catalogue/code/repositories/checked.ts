/**
 * The program that runs an answer: its files over those of a project, from memory. Only inputs enter the sandbox; with `behave` these are the
 * project as the prompt shows it and streams of requests, with `suite` a version of the project, to which the tests of the answer send requests
 * from a process for themselves. With `docs` nothing of the answer runs: it gives the lines that its document misses.
 */
import type { Json } from "../json.ts";
import { SUITE_JUDGE, SUITE_VERDICT, suiteFork } from "../suite-process.ts";
import { filesIn } from "./answer-files.ts";

export { FAILED, PASSED, SUITE_MODULES } from "../suite-process.ts";
export const CHECK = "check_project";

/** The one function of a project that a test may import. */
const OFFER = `def offer(package):
    root, main = types.ModuleType(package), types.ModuleType(package + ".main")
    main.run = lambda requests: result_of(("run", requests))
    root.__path__, root.main = [], main
    sys.modules.update({package: root, package + ".main": main})
    return {}`;

/** What runs before the arguments are read, where some of them are for `suite`. */
export const BEFORE_CHECK = suiteFork(OFFER);

export function checker(answer: string): string {
  return `import importlib.abc, importlib.util, json, sys

${SUITE_JUDGE}

ANSWER = json.loads(${JSON.stringify(JSON.stringify(filesIn(answer) ?? {}))})


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, files):
        self.files = files

    def find_spec(self, name, path=None, target=None):
        stem = name.replace(".", "/")
        if stem + ".py" in self.files:
            return importlib.util.spec_from_loader(name, self)
        if any(path.startswith(stem + "/") for path in self.files):
            return importlib.util.spec_from_loader(name, self, is_package=True)
        return None

    def exec_module(self, module):
        stem = module.__name__.replace(".", "/")
        for path in (stem + ".py", stem + "/__init__.py"):
            if path in self.files:
                exec(compile(self.files[path], path, "exec"), module.__dict__)


def suite_verdict(suites, package):
    run = importlib.import_module(package + ".main").run
    return ${SUITE_VERDICT}(suites, package, lambda message: run(message[1]))


def answered(run, requests):
    try:
        return json.dumps(run(requests))
    except Exception:
        return "crash"


def ${CHECK}(mode, package, files, streams):
    suites = {path: text for path, text in ANSWER.items() if path.startswith("tests/") and path.endswith(".py")}
    if mode == "docs":
        lines = [line.strip() for line in ANSWER.get(package, "").splitlines()]
        return [line for line in streams if line not in lines]
    if mode == "behave":
        files = {**files, **{path: text for path, text in ANSWER.items() if path not in suites}}
    finder = Sources({path: text for path, text in files.items() if path.endswith(".py")})
    sys.meta_path.insert(0, finder)
    if mode == "suite":
        return suite_verdict(suites, package)
    main = importlib.import_module(package + ".main")
    return [answered(main.run, requests) for requests in streams]
`;
}

/** What `behave` gives for a stream that is answered so: Python's JSON. */
export function answeredText(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(answeredText).join(", ")}]`;
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${answeredText(item)}`)
    .join(", ")}}`;
}
