/** commit-graph-query: ranges, merge bases and named ancestors in a graph of commits with merges. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface GraphProblem {
  /** Parents of each commit, the first one first; earlier commits have smaller numbers. */
  parents: number[][];
  names: string[];
  /** In the order of the prompt. */
  order: number[];
  questions: (
    | { kind: "range" | "difference" | "bases"; a: number; b: number }
    | { kind: "path"; a: number; path: string }
  )[];
}

/** By level: commits, questions. */
const SIZES = [
  [6, 2],
  [9, 3],
  [13, 3],
  [18, 4],
  [24, 5],
] as const;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

export const commitGraphQuery = itemRow<GraphProblem>({
  id: "commit-graph-query",
  asks: "ranges, merge bases and ancestors in a graph of commits",
  form: "lines",
  tries: 40,
  make: draw,
  prompts: [
    (one) =>
      `Commits of a git repository, in no special order (merges have several parents, the first one named first):\n\n${graph(one)}\n\nAnswer these questions:\n${questions(one)}\n\n${FORMAT}`,
    (one) =>
      `${questions(one)}\n\nThe history:\n\n${graph(one)}\n\nThe order of the list means nothing. ${FORMAT} One line for each question.`,
    (one) =>
      `A history is given by the parents of its commits:\n${graph(one)}\n\nWhich commits does git name for\n${questions(one)}\n? ${FORMAT}`,
    (one) =>
      `Draw the graph of\n\n${graph(one)}\n\n(X: Y Z means that X has the first parent Y and the second parent Z) and work out\n\n${questions(one)}\n\n${FORMAT} Keep the order of the questions.`,
  ],
});

const FORMAT = "Each answer is a line of commit letters in alphabetical order with spaces between.";

function graph({ parents, names, order }: GraphProblem): string {
  return order
    .map((commit) => {
      const all = at(parents, commit).map((parent) => at(names, parent));
      return `${at(names, commit)}: ${all.length === 0 ? "no parent" : all.join(" ")}`;
    })
    .join("\n");
}

function questions({ names, questions: all }: GraphProblem): string {
  return all
    .map((one, index) => {
      const a = at(names, one.a);
      if (one.kind === "path") return `${index + 1}. the commit ${a}${one.path}`;
      const b = at(names, one.b);
      if (one.kind === "range")
        return `${index + 1}. all commits of ${a}..${b} (reachable from ${b} but not from ${a})`;
      if (one.kind === "difference")
        return `${index + 1}. all commits of ${a}...${b} (reachable from exactly one of them)`;
      return `${index + 1}. all merge bases of ${a} and ${b} (common ancestors that no other common ancestor descends from)`;
    })
    .join("\n");
}

function draw(rng: Rng, level: Level) {
  const [count, asked] = at(SIZES, level - 1);
  const parents: number[][] = [[]];
  for (const commit of range(count).slice(1)) {
    // Mostly on one of the latest commits; every third commit is a merge.
    const recent = range(Math.min(commit, 4)).map((back) => commit - 1 - back);
    parents.push(sample(recent, commit > 2 && rng.integer(3) === 0 ? 2 : 1, rng));
  }
  const names = shuffled(LETTERS, rng).slice(0, count);
  const drawn = range(asked).map((): GraphProblem["questions"][number] => {
    const [a = 0, b = 0] = sample(range(count).slice(Math.floor(count / 3)), 2, rng);
    const kind = rng.integer(4);
    if (kind === 3)
      return {
        kind: "path",
        a: between(rng, Math.floor(count / 2), count - 1),
        path: range(between(rng, 1, 2))
          .map(() => rng.pick(["~1", "~2", "^2", "^", "~3"]))
          .join(""),
      };
    return { kind: (["range", "difference", "bases"] as const)[kind] ?? "range", a, b };
  });
  const problem = { parents, names, order: shuffled(range(count), rng), questions: drawn };
  const answers = drawn.map((one) => answerOf(parents, one));
  if (answers.some((one) => one.length === 0) || answers.every((one) => one.length < 3)) return null;
  const text = (some: readonly number[]): string =>
    some
      .map((commit) => at(names, commit))
      .toSorted()
      .join(" ");
  const items = answers.map(text);
  const swapped = drawn.map((one) => (one.kind === "path" ? one : { ...one, a: one.b, b: one.a }));
  const misses = [
    swapped.map((one) => text(answerOf(parents, one)) || "none"),
    drawn.map(
      (one) =>
        text(
          answerOf(
            parents.map((all) => all.slice(0, 1)),
            one,
          ),
        ) || "none",
    ),
    drawn.map(() => names.toSorted().join(" ")),
  ];
  const merges = parents.filter((all) => all.length > 1).length;
  return { problem, items, misses, effort: count * asked + merges };
}

function answerOf(parents: readonly (readonly number[])[], one: GraphProblem["questions"][number]): number[] {
  if (one.kind === "path") {
    const found = walked(parents, one.a, one.path);
    return found === null ? [] : [found];
  }
  const [a, b] = [ancestors(parents, one.a), ancestors(parents, one.b)];
  if (one.kind === "range") return [...b].filter((commit) => !a.has(commit));
  if (one.kind === "difference") return range(parents.length).filter((commit) => a.has(commit) !== b.has(commit));
  const common = [...a].filter((commit) => b.has(commit));
  return common.filter((commit) => !common.some((other) => other !== commit && ancestors(parents, other).has(commit)));
}

/** The commits that a commit follows from, and the commit. */
function ancestors(parents: readonly (readonly number[])[], commit: number): Set<number> {
  const found = new Set([commit]);
  for (const one of found) for (const parent of at(parents, one)) found.add(parent);
  return found;
}

/** Null where there is no such parent. */
function walked(parents: readonly (readonly number[])[], start: number, path: string): number | null {
  let now: number | undefined = start;
  for (const [, mark, digits] of path.matchAll(/([~^])(\d*)/gu)) {
    const number = digits === "" ? 1 : Number(digits);
    for (const _ of range(mark === "~" ? number : 1)) {
      if (now === undefined) return null;
      now = at(parents, now)[mark === "~" ? 0 : number - 1];
    }
  }
  return now ?? null;
}
