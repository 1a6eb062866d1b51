/** first-bad-revision: the revision that broke a test is found with few runs, though some do not build and some fail at times. */
import { z } from "zod";

import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, recordName } from "../records.ts";

interface Instance {
  revisions: { id: string; title: string; files: string[] }[];
  /** The first revision with the fault, the file that it is in, and those that do not build. */
  bad: number;
  broken: number[];
  /** Runs of a revision without the fault that fail all the same: one in this many; 0: none. */
  flaky: number;
  runs: number;
}

interface World {
  readonly instance: Instance;
  runs: number;
  /** Runs of each revision. */
  readonly tried: Map<number, number>;
  readonly reverted: Set<number>;
}

/** By level: revisions, share of them that does not build, one run in so many fails by chance, spare runs. */
const SIZES = [
  [8, 0, 0, 1],
  [16, 0.15, 0, 2],
  [40, 0.2, 0, 3],
  [90, 0.25, 5, 10],
  [200, 0.3, 4, 14],
] as const;
const PAGE = 50;
/** Runs that all have to fail before a revision counts as bad, where runs may fail by chance. */
const SURE = 3;

const revision = z.object({ revision: recordName });

const tools = {
  log: worldTool({
    description: `Revisions from the oldest on, ${PAGE} at a time`,
    parameters: z.object({ from: z.int().min(0).max(10_000) }),
    run: ({ instance }: World, { from }) => instance.revisions.slice(from, from + PAGE),
  }),
  run_test: worldTool<World, typeof revision>({
    description: "Builds a revision and runs the test",
    parameters: revision,
    run: (world, { revision: id }) => {
      const index = indexOf(world.instance, id);
      if (world.runs >= world.instance.runs) throw new Refusal("no runs are left");
      world.runs += 1;
      return { result: resultOf(world, index), runs_left: world.instance.runs - world.runs };
    },
  }),
  revert: worldTool<World, typeof revision>({
    description: "Takes the change of a revision out of the newest state",
    parameters: revision,
    run: ({ instance, reverted }, { revision: id }) => {
      reverted.add(indexOf(instance, id));
      return "reverted";
    },
  }),
};

export const firstBadRevision = defineWorldRow<Instance, World>({
  id: "first-bad-revision",
  asks: "find and revert the revision that broke a test in few runs, though some do not build and some fail by chance",
  make,
  effort: (instance) => script(instance).length + instance.revisions.length / 20,
  canonical: ({ revisions, bad, broken }) => [revisions.length, bad, broken, revisions.map(({ title }) => title)],
  prompts: [
    (one) =>
      `A test passes at the oldest of ${one.revisions.length} revisions and fails at the newest. Find the revision that broke it and revert that one, and only that one. You have ${one.runs} runs of the test. Revisions may fail to build, which says nothing about the test.${chance(one)}`,
    (one) =>
      `Somewhere in ${one.revisions.length} revisions the test began to fail for good (the first passes, the last fails). Revert the culprit; reverting any other revision spoils the result. Runs are dear: ${one.runs} in all. Some revisions cannot be built.${chance(one)}`,
    (one) =>
      `Your job: undo the change that introduced a failure. History: ${one.revisions.length} revisions, oldest good, newest bad, one turning point. At most ${one.runs} runs. A result "no build" is possible anywhere but at the turning point and leaves the state of the test open.${chance(one)} Titles prove nothing.`,
    (one) =>
      `Bisect. Number of revisions: ${one.revisions.length}. Runs allowed: ${one.runs}. The test is good in the first and bad in the last, and changes once. When you know the first bad revision, call revert for it and for no other. Watch out for revisions without a build.${chance(one)}`,
  ],
  tools,
  world: (instance) => ({ instance, runs: 0, tried: new Map(), reverted: new Set() }),
  gold: (instance) => script(instance),
  slips: (instance) => {
    const gold = script(instance);
    const wrong = (index: number): Call => call("revert", { revision: at(instance.revisions, index).id });
    return {
      "reverts the one after": [
        ...gold.slice(0, -1),
        wrong(Math.min(instance.bad + 1, instance.revisions.length - 1)),
        ...(instance.bad + 1 < instance.revisions.length ? [] : [wrong(0)]),
      ],
      "reverts the one before": [...gold.slice(0, -1), wrong(instance.bad - 1)],
      "reverts two to be safe": [...gold, wrong(instance.bad - 1)],
      "finds it and reverts nothing": gold.slice(0, -1),
    };
  },
  blankets: (instance) => ({
    "reverts the newest": [
      call("log", { from: 0 }),
      call("revert", { revision: at(instance.revisions, instance.revisions.length - 1).id }),
    ],
    "reverts the middle": [
      call("revert", { revision: at(instance.revisions, Math.floor(instance.revisions.length / 2)).id }),
    ],
    "reverts all": instance.revisions.map(({ id }) => call("revert", { revision: id })),
  }),
  grade: ({ bad }, { reverted }) => (reverted.size === 1 && reverted.has(bad) ? 1 : 0),
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, share, flaky, spare] = at(SIZES, level - 1);
  const files = distinct(12, () => `${word(rng)}.ts`);
  const revisions = namesOf("rev", count, rng).map((id) => ({
    id,
    title: `${rng.pick(["Rename", "Speed up", "Fix", "Split", "Simplify", "Add"])} ${word(rng)}`,
    files: sample(files, between(rng, 1, 3), rng),
  }));
  const bad = between(rng, 2, count - 2);
  const broken = range(count).filter(
    (index) => index > 0 && index < count - 1 && index !== bad && index !== bad - 1 && rng.next() < share,
  );
  const draft = { revisions, bad, broken, flaky, runs: Number.MAX_SAFE_INTEGER };
  const needed = searchRuns(draft).length;
  const bound = Math.ceil(Math.log2(count)) * (flaky > 0 ? 2 : 1) + spare;
  // Lucky histories give no work, unlucky ones cannot be solved within the runs.
  return needed <= bound && needed >= Math.floor(Math.log2(count)) ? { ...draft, runs: bound } : null;
}

/** A revision with the fault always fails; one without it fails at every so many runs. */
function resultOf({ instance, tried }: World, index: number): "pass" | "fail" | "no build" {
  const run = tried.get(index) ?? 0;
  tried.set(index, run + 1);
  if (instance.broken.includes(index)) return "no build";
  if (index >= instance.bad) return "fail";
  return instance.flaky > 0 && (index * 7 + run * 3) % instance.flaky === 0 ? "fail" : "pass";
}

/** The runs of a binary search that goes to a neighbour where there is no build, and runs again before it believes in a failure. */
function searchRuns(instance: Instance): number[] {
  const world: World = { instance, runs: 0, tried: new Map(), reverted: new Set() };
  const runs: number[] = [];
  const test = (index: number): "pass" | "fail" | "no build" => {
    for (let run = 1; ; run++) {
      runs.push(index);
      const result = resultOf(world, index);
      if (result !== "fail" || instance.flaky === 0 || run === SURE) return result;
    }
  };
  let [good, bad] = [0, instance.revisions.length - 1];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    const nearby = range(bad - good - 1)
      .map((step) => good + 1 + step)
      .toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
    let found: number | null = null;
    for (const index of nearby) {
      const result = test(index);
      if (result === "no build") continue;
      found = index;
      if (result === "pass") good = index;
      else bad = index;
      break;
    }
    if (found === null) break;
  }
  return runs;
}

function script(instance: Instance): Script {
  const { revisions, bad } = instance;
  return [
    ...range(Math.ceil(revisions.length / PAGE)).map((page) => call("log", { from: page * PAGE })),
    ...searchRuns(instance).map((index) => call("run_test", { revision: at(revisions, index).id })),
    call("revert", { revision: at(revisions, bad).id }),
  ];
}

function indexOf({ revisions }: Instance, id: string): number {
  const index = revisions.findIndex((one) => one.id === id);
  if (index < 0) throw new Refusal(`there is no revision ${id}`);
  return index;
}

function chance({ flaky }: Instance): string {
  return flaky === 0
    ? ""
    : ` A revision without the fault fails by chance now and then, never ${SURE} times in a row; one with the fault always fails.`;
}
