/** job-matrix: the jobs of a build matrix with exclusions, additions to fitting jobs and new ones. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Entry = Record<string, string>;
export interface MatrixProblem {
  axes: { name: string; values: string[] }[];
  exclude: Entry[];
  include: Entry[];
}

/** By level: axes, values of an axis, exclusions, inclusions. */
const SIZES = [
  [2, 2, 1, 1],
  [2, 3, 1, 2],
  [2, 3, 2, 3],
  [3, 2, 2, 4],
  [3, 3, 4, 5],
] as const;
const AXES = [
  { name: "os", values: ["linux", "mac", "win"] },
  { name: "py", values: ["3.9", "3.11", "3.13"] },
  { name: "db", values: ["lite", "pg", "my"] },
] as const;
const EXTRAS = [
  { name: "slow", values: ["yes", "no"] },
  { name: "tag", values: ["t1", "t2", "t3"] },
] as const;

export const jobMatrix = itemRow<MatrixProblem>({
  id: "job-matrix",
  asks: "the jobs of a build matrix with exclusions, and inclusions that extend jobs or add new ones",
  form: "lines",
  tries: 80,
  make,
  prompts: [
    (one) =>
      `${text(one)}\n\n${RULES}\n\nWrite one line per job: its entries as name=value separated by spaces, names in alphabetical order. Jobs of the matrix come in the order of the axes (the last axis changes fastest), then added jobs in their order.`,
    (one) =>
      `Expand this matrix as GitHub Actions does.\n\n${text(one)}\n\n${RULES} One job a line, name=value pairs sorted by name with spaces; first the combinations (first axis slowest), then the new jobs of include.`,
    (one) =>
      `Which jobs does the workflow start?\n\n${text(one)}\n\n${RULES} List them, a line each: all their variables as name=value in alphabetical order of names, separated by spaces. Order: combinations with the last axis varying fastest, then extra jobs.`,
    (one) =>
      `${RULES}\n\n${text(one)}\n\nGive the final list of jobs. A job is a line such as "db=pg os=mac py=3.11" (sorted names). Combinations come first, in odometer order of the axes as given; additional jobs follow in order.`,
  ],
});

const RULES =
  "All combinations of the axes are made, and those that agree with all entries of an exclude item are dropped. Then each include item is taken in order: it is added to every remaining combination in which it does not change a value of an axis (entries of earlier include items may be overwritten); if it fits none, it becomes a job itself, to which later items are not added.";

function text({ axes, exclude, include }: MatrixProblem): string {
  const entry = (one: Entry): string =>
    `  - { ${Object.entries(one)
      .map(([name, value]) => `${name}: "${value}"`)
      .join(", ")} }`;
  return [
    ...axes.map(({ name, values }) => `${name}: [${values.map((value) => `"${value}"`).join(", ")}]`),
    ...(exclude.length === 0 ? [] : ["exclude:", ...exclude.map(entry)]),
    ...(include.length === 0 ? [] : ["include:", ...include.map(entry)]),
  ].join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, size, excluded, included] = at(SIZES, level - 1);
  const axes = sample(AXES, count, rng).map(({ name, values }) => ({ name, values: sample(values, size, rng) }));
  const entry = (from: readonly { name: string; values: readonly string[] }[], most: number): Entry =>
    Object.fromEntries(sample(from, 1 + rng.integer(most), rng).map(({ name, values }) => [name, rng.pick(values)]));
  const exclude = range(excluded).map(() => entry(axes, count));
  const include = range(included).map(() => {
    const isNew = rng.integer(4) === 0;
    const base = isNew
      ? entry(
          axes.map(({ name }) => ({ name, values: ["new", "old"] })),
          1,
        )
      : rng.integer(3) === 0
        ? {}
        : entry(axes, count);
    return { ...base, ...entry(EXTRAS, 2) };
  });
  const problem = { axes, exclude, include };
  const items = jobs(problem, "right");
  const misses = (["appends", "blocks", "early"] as const).map((slip) => jobs(problem, slip));
  if (
    items.length < 2 + Number(level > 2) ||
    items.length > 22 ||
    misses[0]?.join("|") === items.join("|") ||
    items.length === size ** count
  )
    return null;
  return { problem, items, misses, effort: size ** count * (excluded + included) + items.length };
}

/** Slips: every include item is a new job, earlier additions block later ones, or inclusion precedes exclusion. */
function jobs({ axes, exclude, include }: MatrixProblem, how: "right" | "appends" | "blocks" | "early"): string[] {
  let combinations: Entry[] = [{}];
  for (const { name, values } of axes)
    combinations = combinations.flatMap((one) => values.map((value) => ({ ...one, [name]: value })));
  const isExcluded = (one: Entry): boolean =>
    exclude.some((item) => Object.entries(item).every(([name, value]) => one[name] === value));
  const kept = how === "early" ? combinations : combinations.filter((one) => !isExcluded(one));
  const made = kept.map((base) => ({ base, job: { ...base } }));
  const added: Entry[] = [];
  for (const item of include) {
    const entries = Object.entries(item);
    const fitting =
      how === "appends"
        ? []
        : made.filter(({ base, job }) =>
            entries.every(([name, value]) => ((how === "blocks" ? job : base)[name] ?? value) === value),
          );
    for (const one of fitting) Object.assign(one.job, item);
    if (fitting.length === 0) added.push(item);
  }
  const final = [...made.map(({ job }) => job), ...added].filter((one) => how !== "early" || !isExcluded(one));
  return final.map((job) =>
    Object.keys(job)
      .toSorted()
      .map((name) => `${name}=${job[name]}`)
      .join(" "),
  );
}
