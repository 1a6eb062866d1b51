/** replicated-set: the elements of replicas of an add-wins set after adds, removes and one-way merges. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Step = { do: "add" | "remove"; at: number; element: string } | { do: "merge"; from: number; into: number };
export interface SetProblem {
  replicas: number;
  steps: Step[];
}

/** By level: replicas, elements, steps. */
const SIZES = [
  [2, 2, 7],
  [2, 3, 11],
  [3, 3, 16],
  [3, 4, 24],
  [4, 5, 36],
] as const;

export const replicatedSet = itemRow<SetProblem>({
  id: "replicated-set",
  asks: "the elements of the replicas of an add-wins set after adds, removes and merges",
  form: "lines",
  tries: 40,
  make,
  prompts: [
    (one) =>
      `${RULES}\n\nReplicas R1 to R${one.replicas} are empty. Then:\n${text(one)}\n\nWhat does each replica contain at the end? One line per replica in order: elements alphabetically with spaces, or - if it is empty.`,
    (one) =>
      `A conflict-free replicated set (observed remove, adds win). ${RULES}\n\n${text(one)}\n\nGive the final contents of R1 to R${one.replicas}, a line for each, sorted and space-separated; - stands for an empty set.`,
    (one) =>
      `History of ${one.replicas} replicas that start empty:\n${text(one)}\n\n${RULES} Write down which elements are visible on R1, R2, ... afterwards: one line for each replica, letters in alphabetical order with spaces between (- for none).`,
    (one) =>
      `Follow the tags of an OR-set through this run.\n${text(one)}\n\n${RULES}\n\nAnswer with ${one.replicas} lines, the sets at R1, R2 and so on; the elements of a line are sorted and separated by spaces, an empty set is -.`,
  ],
});

const RULES =
  "An add puts the element with a new unique tag. A remove deletes all tags of the element that this replica holds at that time, and remembers them as deleted. A merge from A into B gives B all tags that A or B holds, and all that either remembers as deleted, and then takes the deleted ones away; A does not change. An element is in a replica if it has a tag there.";

function text({ steps }: SetProblem): string {
  return steps
    .map((step) =>
      step.do === "merge"
        ? `merge R${step.from + 1} into R${step.into + 1}`
        : `R${step.at + 1}: ${step.do} ${step.element}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [replicas, elements, count] = at(SIZES, level - 1);
  const steps = range(count).map((): Step => {
    const kind = rng.integer(12);
    const who = rng.integer(replicas);
    const element = "abcdefgh".charAt(rng.integer(elements));
    if (kind < 4) return { do: "add", at: who, element };
    if (kind < 7) return { do: "remove", at: who, element };
    const into = rng.integer(replicas - 1);
    return { do: "merge", from: who, into: into >= who ? into + 1 : into };
  });
  const problem = { replicas, steps };
  const { items, work } = contents(problem, "tags");
  const misses = [
    contents(problem, "removes").items,
    contents(problem, "union").items,
    contents(problem, "both").items,
  ];
  if (items.every((item) => item === "-") || new Set(items).size < 2) return null;
  const [removes, union] = misses.map((miss) => miss.join() === items.join());
  if (union === true || (removes === true && level > 1)) return null;
  return { problem, items, misses, effort: work + 2 * count };
}

/** Slips: a remove beats every add that was merged, merges are unions of elements, or merges work in both directions. */
function contents({ replicas, steps }: SetProblem, how: "tags" | "removes" | "union" | "both") {
  const state = range(replicas).map(() => ({ tags: new Set<string>(), dead: new Set<string>() }));
  let work = 0;
  const elementOf = (tag: string): string => tag.charAt(0);
  const absorb = (from: number, into: number): void => {
    const [source, target] = [at(state, from), at(state, into)];
    work += source.tags.size + source.dead.size;
    if (how !== "union") for (const tag of source.dead) target.dead.add(tag);
    for (const tag of source.tags) target.tags.add(tag);
    for (const tag of target.tags) {
      const isGone =
        how === "removes" ? [...target.dead].some((one) => elementOf(one) === elementOf(tag)) : target.dead.has(tag);
      if (isGone && how !== "union") target.tags.delete(tag);
    }
  };
  for (const [index, step] of steps.entries()) {
    if (step.do === "merge") {
      absorb(step.from, step.into);
      if (how === "both") absorb(step.into, step.from);
      continue;
    }
    const own = at(state, step.at);
    if (step.do === "add") own.tags.add(`${step.element}${index}`);
    else
      for (const tag of own.tags) {
        if (elementOf(tag) !== step.element) continue;
        own.tags.delete(tag);
        own.dead.add(tag);
      }
  }
  return { items: state.map(({ tags }) => [...new Set([...tags].map(elementOf))].toSorted().join(" ") || "-"), work };
}
