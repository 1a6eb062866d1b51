/** CPython runs generated projects beside the translation that computes what they answer; splits keep pairs of feature and project apart. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";

import { ofSplit } from "../../../../../../ts/datasets/index.ts";
import { repoFeature } from "../../../../../../ts/environments/catalogue/code/repo-feature/index.ts";
import type { Instance as Wish } from "../../../../../../ts/environments/catalogue/code/repo-feature/draw.ts";
import { repoIssueFix } from "../../../../../../ts/environments/catalogue/code/repo-issue-fix/index.ts";
import {
  type Instance as Issue,
  streamsOf,
} from "../../../../../../ts/environments/catalogue/code/repo-issue-fix/draw.ts";
import { filesIn, filesText } from "../../../../../../ts/environments/catalogue/code/repositories/answer-files.ts";
import {
  BEFORE_CHECK,
  CHECK,
  checker,
  FAILED,
  PASSED,
} from "../../../../../../ts/environments/catalogue/code/repositories/checked.ts";
import { firstDifference, versionOf } from "../../../../../../ts/environments/catalogue/code/repositories/observed.ts";
import {
  codeOf,
  domainOf,
  drawProject,
  faultsOf,
  functionOf,
  sitesOf,
} from "../../../../../../ts/environments/catalogue/code/repositories/project.ts";
import { FEATURES } from "../../../../../../ts/environments/catalogue/code/repositories/templates/features.ts";
import { drawStream, encoded } from "../../../../../../ts/environments/catalogue/code/repositories/streams.ts";
import { drawInstance } from "../../../../../../ts/environments/catalogue/drawn.ts";
import { at, range } from "../../../../../../ts/environments/catalogue/lists.ts";
import { LEVELS } from "../../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../../support/form.ts";
import { HAS_PYTHON } from "../interpreters.ts";

const PYTHON = process.env["PRL_TEST_PYTHON"] ?? "python3";
/** Projects that run in CPython, each with some faults. */
const PROJECTS = IS_LONG ? 60 : 4;
const FAULTS = IS_LONG ? 12 : 3;
const STREAMS = 6;
const RUNNER = `
import importlib.abc, importlib.util, json, sys

class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, files):
        self.files = files
    def find_spec(self, name, path=None, target=None):
        stem = name.replace(".", "/")
        is_file = stem + ".py" in self.files
        return importlib.util.spec_from_loader(name, self, is_package=not is_file) if is_file or any(p.startswith(stem + "/") for p in self.files) else None
    def exec_module(self, module):
        path = module.__name__.replace(".", "/") + ".py"
        if path in self.files:
            exec(compile(self.files[path], path, "exec"), module.__dict__)

answers = []
for package, files, streams in json.load(sys.stdin):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]
    sys.meta_path.insert(0, Sources(files))
    run = importlib.import_module(package + ".main").run
    sys.meta_path.pop(0)
    for requests in streams:
        try:
            answers.append(run(requests))
        except Exception:
            answers.append(None)
print(json.dumps(answers))
`;

describe("generated projects", () => {
  test.skipIf(!HAS_PYTHON)("answer in CPython what is computed here, also with faults", () => {
    const rng = createRng(4);
    const cases = range(PROJECTS).flatMap((index) => {
      const project = drawProject(rng, (7 * index + 5) % 13);
      const faults = range(FAULTS).map(() => rng.pick(faultsOf(rng.pick(sitesOf(project)))));
      const streams = range(STREAMS).map(() => drawStream(project, rng));
      return [[], ...faults.map((fault) => [fault])].map((some) => ({ project, some, streams }));
    });
    const input = cases.map(({ project, some, streams }) => [
      domainOf(project).pkg,
      codeOf(project, some),
      streams.map((stream) => encoded(project, stream)),
    ]);
    const printed = execFileSync(PYTHON, ["-c", RUNNER], {
      input: JSON.stringify(input),
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    const here = cases.flatMap(({ project, some, streams }) => {
      const version = versionOf(project, some);
      return streams.map((stream) => version.answers(stream));
    });
    expect(JSON.parse(printed)).toEqual(here);
  });

  test("have faults up to six calls below a handler", () => {
    const rng = createRng(1);
    const project = drawProject(rng, FEATURES.length);
    const reached = FEATURES.flatMap(({ id }) =>
      range(3).flatMap(() => versionOf(project).reached(drawStream(project, rng, { favoured: [id] }))),
    );
    const sites = sitesOf(project).map((site) => functionOf(project, site));
    const depths = new Set(sites.map((called) => Math.min(...reached.map((one) => one.get(called) ?? Infinity))));
    for (const depth of [1, 2, 3, 4, 5, 6]) expect(depths).toContain(depth);
  });

  test.skipIf(!HAS_PYTHON)("show their text to no test of an answer", () => {
    const project = drawProject(createRng(3), 3);
    const verdictOf = (suite: string): string => {
      const call = `print(${CHECK}("suite", ${JSON.stringify(domainOf(project).pkg)}, json.load(sys.stdin), []))`;
      const answer = filesText({ "tests/test_issue.py": suite, "tests/__init__.py": "", "tests/notes.md": "Notes" });
      return execFileSync(PYTHON, ["-c", `${BEFORE_CHECK}\n${checker(answer)}\n${call}`], {
        input: JSON.stringify(codeOf(project)),
        encoding: "utf8",
      }).trim();
    };
    const main = `from ${domainOf(project).pkg}.main import run\n\n\ndef test_issue():\n`;
    expect(verdictOf(`${main}    assert run([]) == []\n`)).toBe(PASSED);
    expect(verdictOf(`${main}    assert run([]) == [1]\n`)).toBe(FAILED);
    // Each of these passes where it finds the text of a version.
    const frames = `    import sys\n    frame, seen = sys._getframe(), ""\n    while frame is not None:\n        seen += repr(frame.f_locals)\n        frame = frame.f_back\n`;
    const finders = `    import sys\n    seen = repr([vars(one) for one in sys.meta_path if not isinstance(one, type)])\n    seen += repr(vars(sys.modules[run.__module__].__loader__))\n`;
    for (const search of [frames, finders])
      expect(verdictOf(`${main}${search}    assert "def is_" + "open(day)" in seen\n`)).toBe(FAILED);
    const memory = `    import re\n    seen = b""\n    with open("/proc/self/maps") as lines, open("/proc/self/mem", "rb", 0) as bytes:\n        for line in lines:\n            start, end = (int(part, 16) for part in line.split()[0].split("-"))\n            if "rw" in line and bytes.seek(start) == start:\n                seen += bytes.read(end - start)\n`;
    expect(verdictOf(`${main}${memory}    assert re.search(rb"[d]ef is_[o]pen.day.", seen)\n`)).toBe(FAILED);
    // It passes where it finds byte code of a version.
    const codes = `    import gc\n    seen = [one.__code__.co_filename for one in gc.get_objects() if hasattr(one, "__code__")]\n`;
    expect(
      verdictOf(`${main}${codes}    assert any(one.startswith("${domainOf(project).pkg}/") for one in seen)\n`),
    ).toBe(FAILED);
  });

  test("files survive their way through an answer", () => {
    const files = codeOf(drawProject(createRng(1), 3));
    expect(filesIn(filesText(files))).toEqual(files);
    expect(filesIn("x = 1\n=== a.py\npass")).toBeNull();
    expect(filesIn("=== ../a.py\npass")).toBeNull();
    expect(filesIn("=== a/__init__.py\n=== README.md\nMore")).toEqual({ "a/__init__.py": "\n", "README.md": "More\n" });
    expect(filesIn("=== a.py\npass\n=== a.py\npass")).toBeNull();
  });
});

describe("repo-issue-fix", () => {
  const row = at(repoIssueFix.rows, 0);

  test("a report goes wrong in its last request alone, as far below the handler as is said", () => {
    const rng = createRng(8);
    for (const level of IS_LONG ? LEVELS : ([2, 5] as const)) {
      const issue = drawInstance(row, level, rng).instance as Issue;
      const [right, given] = [versionOf(issue.project), versionOf(issue.project, [issue.fault])].map((one) =>
        one.answers(issue.report),
      );
      const wrong = right?.flatMap((answer, index) =>
        JSON.stringify(answer) === JSON.stringify(given?.[index]) ? [] : [index],
      );
      expect(wrong).toEqual([issue.report.length - 1]);
      expect(Math.min(issue.indirection, 5)).toBe(level);
    }
  });

  test("hidden streams show each fault that a test has to catch", () => {
    // The first ones had a fault that showed in none of the few streams that were hidden, so that an answer could bring it.
    const seeds = IS_LONG ? range(120) : [6, 31, 50];
    for (const seed of seeds) {
      const issue = drawInstance(row, 1, createRng(seed)).instance as Issue;
      const streams = streamsOf(issue);
      const hidden = [...issue.olds, ...issue.siblings].map((index) => at(streams, index));
      const right = versionOf(issue.project);
      for (const mutant of issue.mutants) {
        const wrong = versionOf(issue.project, [mutant]);
        const shows = hidden.filter((stream) => firstDifference(right.answers(stream), wrong.answers(stream)) !== null);
        expect(shows.length, `seed ${seed}: ${JSON.stringify(mutant)}`).toBeGreaterThan(0);
      }
    }
  });

  test("hard issues name no file and no function of the project", () => {
    const rng = createRng(9);
    const { instance, prompt } = drawInstance(row, 5, rng);
    const issue = prompt.split("\n").filter((line) => line.startsWith(">"));
    expect(issue.length).toBeGreaterThan(0);
    for (const { within } of sitesOf((instance as Issue).project)) expect(issue.join(" ")).not.toContain(within);
    expect(issue.join(" ")).not.toMatch(/\.py|_/u);
  });
});

describe("repo-feature", () => {
  const row = at(repoFeature.rows, 0);

  test("a kind of feature in a kind of project is in one split", () => {
    const rng = createRng(10);
    const wishes = range(300).map((seed): Wish => {
      const feature = rng.pick(FEATURES).id;
      const project = drawProject(rng, 4, feature);
      return { project, feature, touched: 1, added: 1, seed, with: [], careless: [] };
    });
    const groupOf = (wish: Wish): string => JSON.stringify(row.group?.(wish));
    const content = (wish: Wish): unknown => row.canonical?.(wish);
    const groups = (["train", "eval"] as const).map(
      (use) => new Set([...ofSplit(wishes, use, content, groupOf)].map(groupOf)),
    );
    const [train = new Set(), held = new Set()] = groups;
    expect(train.size).toBeGreaterThan(0);
    expect(held.size).toBeGreaterThan(0);
    expect([...held].filter((group) => train.has(group))).toEqual([]);
  });

  test("the project without the feature answers everything else as before", () => {
    const rng = createRng(11);
    const { project, feature } = drawInstance(row, 5, rng).instance as Wish;
    const given = { ...project, features: project.features.filter((one) => one !== feature) };
    for (const stream of range(STREAMS).map(() => drawStream(given, rng)))
      expect(versionOf(given).answers(stream)).toEqual(versionOf(project).answers(stream));
  });
});
