/** licensed-conclusions: which independences a causal diagram guarantees: d-separation (Pearl 1988). */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { inWords, numbered } from "../documents.ts";

interface Given {
  names: string[];
  /** The first one acts on the second one; numbers grow along arrows. */
  arrows: [number, number][];
  claims: { a: number; b: number; given: number[] }[];
}

/** By level: quantities, arrows, claims, most quantities that are given. */
const SIZES = [
  [4, 3, 6, 1],
  [5, 5, 8, 1],
  [6, 7, 8, 2],
  [8, 10, 10, 3],
  [10, 13, 12, 4],
] as const;

export const licensedConclusions = fieldRow<Given>({
  id: "licensed-conclusions",
  asks: "which independences among quantities, given observed values of others, a causal diagram guarantees",
  draw,
  solve,
  isShared: true,
  values: () => "the marks of the claims that are guaranteed, separated by commas",
  wordings: [
    (one) =>
      `Causes in a field study: ${arrows(one)}. There are no others, and no hidden common causes.\nClaims:\n${claims(one)}\n\nWhich claims follow from the diagram alone, whatever the strengths of the effects?`,
    (one) =>
      `Claims about data:\n${claims(one)}\n\nThe data come from a system in which ${arrows(one)}; everything else that acts is independent noise. List every claim that has to hold in each such system.`,
    (one) =>
      `${sentenceOf(arrows(one))}. This is the complete causal diagram. Which of the following statements does it license?\n${claims(one)}`,
    (one) =>
      `A reviewer accepts an independence only if it is implied by the stated causal structure (${arrows(one)}; nothing is left out). Which of these pass?\n${claims(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, arrowCount, claimCount, most] = at(SIZES, level - 1);
  const pairs = range(count).flatMap((to) => range(to).map((from): [number, number] => [from, to]));
  const order = shuffled(range(count), rng);
  const drawn = sample(pairs, arrowCount, rng);
  const joined = new Set(drawn.map((pair) => pair.join()));
  const open = pairs.filter((pair) => !joined.has(pair.join()));
  const made = range(claimCount).map(() => {
    const [a, b] = rng.pick(open);
    const rest = range(count).filter((one) => one !== a && one !== b);
    return { a, b, given: sample(rest, rng.integer(most + 1), rng).toSorted((x, y) => x - y) };
  });
  return {
    names: shuffledNames(
      distinct(count, () => word(rng)),
      order,
    ),
    arrows: shuffled(drawn, rng),
    claims: made,
  };
}

function shuffledNames(names: readonly string[], order: readonly number[]): string[] {
  return order.map((place) => at(names, place));
}

function solve({ names, arrows: all, claims: some }: Given): Solution | null {
  if (new Set(some.map((claim) => JSON.stringify(claim))).size < some.length) return null;
  const marks = marksOf("C", some.length);
  const holds = some.map((claim) => !isConnected(all, names.length, claim));
  const list = (isIn: (index: number) => boolean): string => marked(marks.filter((_, index) => isIn(index)));
  const right = holds.filter(Boolean).length;
  if (right < 2 || right > some.length / 2) return null;
  // The slip takes every fixed quantity as one that blocks a way.
  const naive = some.map(
    ({ a, b, given: fixed }) =>
      !isReachable(
        all.filter(([from, to]) => !fixed.includes(from) && !fixed.includes(to)),
        a,
        b,
      ),
  );
  const gold = list((index) => at(holds, index));
  const slips = [
    list((index) => at(naive, index)),
    list((index) => !at(holds, index)),
    list(() => true),
    list((index) => at(some, index).given.length === 0),
  ];
  return {
    fields: [{ name: "guaranteed", kind: "set", value: gold, options: marks }],
    slips: slips.filter((slip) => slip !== gold && slip !== "").map((slip) => [slip]),
    steps: some.length * (names.length + all.length),
  };
}

/** Whether a way between the two is open: each collider on it is fixed or acts on something fixed, and nothing else on it is fixed. */
function isConnected(all: Given["arrows"], count: number, { a, b, given: fixed }: Given["claims"][number]): boolean {
  const ancestors = new Set(fixed);
  for (const one of range(count).toReversed())
    if (all.some(([from, to]) => from === one && ancestors.has(to))) ancestors.add(one);
  // Reachability over (place, whether it was entered along an arrow into it): Bayes ball.
  const seen = new Set<string>();
  const waiting: [number, boolean][] = [[a, false]];
  for (const [place, isInto] of waiting) {
    if (place === b) return true;
    const key = `${place} ${isInto}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const isFixed = fixed.includes(place);
    for (const [from, to] of all) {
      if (from === place && !isFixed) waiting.push([to, true]);
      if (to === place && (isInto ? ancestors.has(place) : !isFixed)) waiting.push([from, false]);
    }
  }
  return false;
}

function isReachable(all: Given["arrows"], a: number, b: number): boolean {
  const seen = new Set([a]);
  for (const one of seen)
    for (const [from, to] of all) if (from === one || to === one) seen.add(from === one ? to : from);
  return seen.has(b);
}

function arrows({ names, arrows: all }: Given): string {
  return all.map(([from, to]) => `${at(names, from)} acts on ${at(names, to)}`).join(", ");
}

function sentenceOf(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function claims({ names, claims: all }: Given): string {
  return numbered(
    all.map(({ a, b, given: fixed }) => {
      // Values that are seen: to set one would take away the arrows into it.
      const values = `the observed ${fixed.length === 1 ? "value" : "values"} of ${inWords(fixed.map((one) => at(names, one)))}`;
      return `${sentenceOf(at(names, a))} and ${at(names, b)} are independent${fixed.length === 0 ? "" : ` given ${values}`}.`;
    }),
    "C",
  );
}
