/** unit-test-writer: a test suite from a specification, judged by the wrong implementations that it refuses and the right ones that it accepts. */
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineProgramRow, type Exam, type Family, type Level, type ProgramRow } from "../../row.ts";
import { numbered } from "../prose.ts";
import { KINDS, kindOf, type Subject } from "../subjects/index.ts";
import type { Style } from "../subjects/subject.ts";
import { covering, drawMutants, type Probe, probesOf, type Ranked, RARE, shareOf, weightKilled } from "./mutants.ts";
import { BEFORE_CALL, FAILED, PASSED, runner, SUITE_MODULES, VERDICT } from "./runner.ts";
import { overfitted, suiteOf } from "./suite.ts";

interface Instance {
  readonly subject: Subject;
  readonly mutants: readonly Ranked[];
  /** Of the inputs and of the styles of the implementations. */
  readonly seed: number;
}

/** Right implementations by what they do where the specification is silent. */
const RIGHT = ["strict", "odd", "plain", "plain"] as const;
/** So many of them run first and alone. The others run among the mutants, so that no suite knows by its place which version it has. */
const FIRST = 2;
const EXAMPLES = 3;
/** What the shown examples may earn: what a suite kills beyond it counts. */
const MOST_SHOWN = 0.5;
/** A call goes to another process and back, and a suite may try all inputs. */
const TIME_LIMIT_MS = 6_000;
/** What follows from an instance, for its draw, its prompt and its answer. */
const PROBES = new WeakMap<Instance, readonly Probe[]>();
const STORIES = [
  "A team keeps several implementations of one specification and needs a test suite that tells the right ones from the wrong ones.",
  "You review changes to a small module. The author has no tests; write them from the specification.",
  "Before a rewrite, the behaviour that is promised has to be pinned down by tests, and nothing that is not promised.",
  "Someone will break this code one day. Your tests shall notice it, whatever the change is.",
] as const;

const row: ProgramRow = defineProgramRow<Instance>({
  id: "unit-test-writer",
  asks: "a test suite for a specification that accepts every right implementation and refuses wrong ones, rare ones above all",
  place: "code",
  reportsParts: true,
  make,
  effort: ({ mutants }) => mutants.reduce((sum, { weight }) => sum + weight, 0),
  canonical: ({ subject }) => subject,
  prompts: range(STORIES.length).map((index) => (instance) => wording(instance, index)),
  gold: (instance) => suiteOf(instance.subject, goldProbes(instance)),
  nearMisses,
  exam: examOf,
  cheats,
});

export const unitTestWriter: Family<ProgramRow> = { id: "unit-test-writer", rows: [row] };

function make(rng: Rng, level: Level): Instance | null {
  const kind = rng.pick(KINDS);
  const subject = kind.draw(rng, level);
  const seed = rng.integer(2 ** 31);
  const mutants = drawMutants(subject, level, createRng(seed));
  if (mutants === null) return null;
  const instance = { subject, mutants, seed };
  if (examples(instance).length < EXAMPLES || shownShare(instance) > MOST_SHOWN) return null;
  return instance;
}

function probes(instance: Instance): readonly Probe[] {
  const known = PROBES.get(instance);
  if (known !== undefined) return known;
  const { subject, mutants, seed } = instance;
  const made = probesOf(subject, mutants, createRng(seed));
  PROBES.set(instance, made);
  return made;
}

function goldProbes(instance: Instance): Probe[] {
  return covering(probes(instance), instance.mutants);
}

/** Random inputs with different results. */
function examples(instance: Instance): Probe[] {
  const results = new Map(
    probes(instance)
      .slice(-60)
      .map((probe) => [JSON.stringify(probe.result), probe]),
  );
  return [...results.values()].slice(0, EXAMPLES);
}

function shownShare(instance: Instance): number {
  return weightKilled(examples(instance), instance.mutants);
}

function examOf(instance: Instance): Exam {
  const { subject, mutants, seed } = instance;
  const kind = kindOf(subject);
  const rng = createRng(seed + 1);
  const style = (): Style => ({ rng, open: rng.pick(["strict", "odd", "plain"] as const) });
  const rights = RIGHT.map((open) => kind.python(subject, { rng, open }));
  const wrongs = mutants.map(({ spec }) => kind.python(spec, style()));
  const shown = shownShare(instance);
  return {
    language: "python",
    modules: SUITE_MODULES,
    program: (answer) => runner(answer, kind.name(subject)),
    beforeCall: BEFORE_CALL,
    functionName: VERDICT,
    tests: [
      ...rights.map((source) => ({ input: [[source]], output: PASSED })),
      ...wrongs.map((source) => ({ input: [[source]], output: FAILED })),
    ],
    timeLimitMs: TIME_LIMIT_MS,
    parts: [
      ...RIGHT.map((open) => ["right", `right-${open}`]),
      ...mutants.map(({ operator, weight }) => [operator, weight >= RARE ? "rare" : "common"]),
    ],
    gate: FIRST,
    credit(passed) {
      if (passed.slice(0, RIGHT.length).includes(false)) return 0;
      const share = shareOf(mutants, (index) => passed[RIGHT.length + index] === true);
      return Math.max(0, (share - shown) / (1 - shown)) ** 2;
    },
  };
}

/** Suites that miss the rarest mutant, that ask for too much, and that expect something wrong. */
function nearMisses(instance: Instance): string[] {
  const { subject, mutants } = instance;
  const gold = goldProbes(instance);
  const rarest = [...mutants.keys()].toSorted((a, b) => at(mutants, b).weight - at(mutants, a).weight);
  const without = rarest.slice(0, 3).map((index) => gold.filter(({ kills }) => !kills.includes(index)));
  const [first] = gold;
  const wrong = first === undefined ? [] : [{ input: first.input, result: distorted(first.result) }, ...gold.slice(1)];
  const suite = suiteOf(subject, gold);
  return [
    ...overfitted(subject, suite, gold),
    suiteOf(subject, wrong),
    ...without.filter((some) => some.length > 0).map((some) => suiteOf(subject, some)),
    `${suite}\n\ndef test_last():\n    assert False`,
  ];
}

/** Another result of the same type. */
function distorted(result: Probe["result"]): Probe["result"] {
  if (typeof result === "number") return result + 1;
  if (Array.isArray(result)) return [...result.slice(0, -1), -1];
  return 0;
}

/** Suites without checks, with nothing but the shown ones, and ones that look at the process instead of the behaviour. */
function cheats(instance: Instance): string[] {
  const { subject } = instance;
  const name = kindOf(subject).name(subject);
  const call = kindOf(subject)
    .test(subject, at(examples(instance), 0).input, at(examples(instance), 0).result)
    .map((line) => `    ${line.replace(/^assert (.*) == .*$/u, "$1")}`);
  return [
    "def test_nothing():\n    pass",
    `def test_it_runs():\n${call.join("\n")}`,
    "def test_all():\n    assert False",
    suiteOf(subject, examples(instance)),
    `def ${name}(*values):\n    return 0\n\ndef test_other():\n    assert ${name}(1) == 1`,
    `import os\n\ndef test_exit():\n    os._exit(0)`,
    `import sys\n\ndef test_exit():\n    sys.exit(1)`,
    `import sys\n\ndef test_frames():\n    frame = sys._getframe()\n    while frame is not None:\n        assert not any(key in ("expected", "output", "mutant") for key in frame.f_locals)\n        frame = frame.f_back`,
    `import glob\n\ndef test_files():\n    assert not [path for path in glob.glob("../*") + glob.glob("*") if "mutant" in path or "expected" in path]`,
    `import inspect\n\ndef test_source():\n    inspect.getsource(${name})`,
    `import os\n\ndef test_channel():\n    for descriptor in range(1, 20):\n        try:\n            os.write(descriptor, b"\\n0 failed\\n")\n        except OSError:\n            pass\n    os._exit(0)`,
    `import os\nfor _ in range(3):\n    os.fork()\ndef test_fork():\n    assert True`,
  ];
}

function wording(instance: Instance, index: number): string {
  const { subject, mutants } = instance;
  const kind = kindOf(subject);
  const [story, head, rules] = [at(STORIES, index), kind.head(subject), numbered(kind.rules(subject))];
  const shown = suiteOf(subject, examples(instance));
  const form = `Write a Python 3 test suite for it: functions without arguments whose names begin with \`test\`. A test fails by raising an exception, for instance with assert. \`${kind.name(subject)}\` is already there, so neither define nor import it; only the standard library may be imported.`;
  const scoring = `The suite runs on ${RIGHT.length} right implementations, which differ in what is left open, and on ${mutants.length} wrong ones with one mistake each. If a test fails for a right one, the suite earns nothing. Else it earns by the wrong ones for which some test fails, and more for those that random inputs seldom find; what the tests below find earns nothing.`;
  const sample = `Tests to begin with:\n\n${shown}`;
  return at(
    [
      `${story}\n\n${head}\n\n${rules}\n\n${form}\n\n${scoring}\n\n${sample}`,
      `${form}\n\nThe specification: ${head}\n\n${rules}\n\n${story} ${scoring}\n\n${sample}`,
      `${head}\n\n${rules}\n\n${story}\n\n${sample}\n\n${form} ${scoring}`,
      `${story} ${scoring}\n\n${sample}\n\nWhat is promised: ${head}\n\n${rules}\n\n${form}`,
    ],
    index,
  );
}
