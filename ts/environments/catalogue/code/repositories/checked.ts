/**
 * The program that runs an answer: its files over those of a project, from memory. Only inputs enter the sandbox; with `behave` these are the
 * project as the prompt shows it and streams of requests, with `suite` a version of the project, on which the tests of the answer run: it is
 * loaded first and its texts are dropped, for a test that finds them tells versions without a request. With `docs` nothing of the answer runs: it gives the lines that its document misses.
 */
import type { Json } from "../json.ts";
import { filesIn } from "./answer-files.ts";
import type { Files } from "./python/run-files.ts";

export const CHECK = "check_project";
export const PASSED = "passed";
export const FAILED = "failed";

export function checker(answer: string): string {
  return `import importlib.abc, importlib.util, json, sys

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


def load_and_forget(package, finder, files):
    for path in [package + "/main.py", *finder.files]:
        importlib.import_module(path[:-3].replace("/", "."))
    sys.meta_path.remove(finder)
    finder.files.clear()
    files.clear()


def suite_verdict(suites, package, finder, files):
    try:
        load_and_forget(package, finder, files)
        tests = []
        for path, text in suites.items():
            space = {"__name__": "suite"}
            exec(compile(text, path, "exec"), space)
            tests += [value for key, value in list(space.items()) if key.startswith("test") and callable(value)]
        if not tests:
            return "no tests"
        for test in tests:
            test()
    except Exception:
        return "${FAILED}"
    return "${PASSED}"


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
        return suite_verdict(suites, package, finder, files)
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

/** The same code with statements that do nothing, so that no version has the text or the byte code of another one. */
export function restyled(files: Files, seed: number): Files {
  let turn = seed;
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => {
      const lines = text.split("\n").flatMap((line, index, all) => {
        const inside = /^( *)"""/u.exec(line)?.[1];
        if (inside === undefined || !/^ *def /u.test(all[index - 1] ?? "")) return [line];
        turn = (turn * 7 + 3) % 1_000_003;
        return [line, `${inside}_ = ${turn % 97}`];
      });
      return [path, lines.join("\n")];
    }),
  );
}
