/** adjustment-audit: which adjusted comparisons of observational studies give the causal effect: back-door criterion (Pearl 1993). */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { numbered } from "../documents.ts";
import { balanced, fieldRow, type Solution } from "../../field-row.ts";

interface Analysis {
  cause: number;
  effect: number;
  adjusted: number[];
}

interface Given {
  names: string[];
  /** The first one acts on the second one. */
  arrows: [number, number][];
  analyses: Analysis[];
}

/** By level: quantities, most arrows into one, analyses. */
const SIZES = [
  [5, 2, 8],
  [6, 2, 9],
  [7, 3, 9],
  [9, 3, 12],
  [12, 3, 15],
] as const;
const VERDICTS = ["valid", "confounded", "overadjusted"] as const;

export const adjustmentAudit = fieldRow<Given>({
  id: "adjustment-audit",
  asks: "which adjusted comparisons give a causal effect, leave a back-door path open, or adjust for a consequence of the cause",
  draw,
  solve,
  isShared: true,
  values: () => `each value is one of ${VERDICTS.join(", ")}`,
  wordings: [
    (one, rng) => `${arrowLines(one, rng)}\n\n${RULES}\n\nAnalyses:\n${analyses(one)}`,
    (one, rng) =>
      `Studies compared groups as follows.\n${analyses(one)}\n\nAll direct influences are known:\n${arrowLines(one, rng)}\n\nJudge each analysis. ${RULES}`,
    (one, rng) =>
      `${RULES}\n\nWhat acts on what, completely:\n${arrowLines(one, rng)}\n\nThe comparisons to be judged:\n${analyses(one)}`,
    (one, rng) =>
      `Reviewers ask whether these adjustments permit a causal reading:\n${analyses(one)}\nThe agreed diagram, in words:\n${arrowLines(one, rng)}\n${RULES}`,
  ],
});

const RULES =
  "An analysis is overadjusted when it adjusts for something on which the cause acts, directly or over others. Otherwise it is confounded when some path between cause and effect that begins with an arrow into the cause is open: a path is open when each quantity on it at which two arrows meet is adjusted for or acts (directly or over others) on something adjusted for, and no other quantity on it is adjusted for. Otherwise it is valid.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, most, analysisCount] = at(SIZES, level - 1);
  const order = shuffled(range(count), rng);
  const arrows = range(count).flatMap((to) =>
    sample(range(to), between(rng, 1, most), rng).map((from): [number, number] => [at(order, from), at(order, to)]),
  );
  const analysis = (): Analysis => {
    const [cause = 0, effect = 0, ...rest] = shuffled(range(count), rng);
    return {
      cause,
      effect,
      adjusted: rest.slice(0, between(rng, 0, Math.min(3, count - 3))).toSorted((a, b) => a - b),
    };
  };
  const found: Analysis[] = [];
  const keys = new Set<string>();
  for (const wanted of balanced(VERDICTS, analysisCount, rng)) {
    const next = range(150)
      .map(analysis)
      .find((one) => !keys.has(JSON.stringify(one)) && isConnected(arrows, one) && verdictOf(arrows, one) === wanted);
    if (next === undefined) return null;
    keys.add(JSON.stringify(next));
    found.push(next);
  }
  return { names: distinct(count, () => word(rng, 2)), arrows: shuffled(arrows, rng), analyses: found };
}

/** The cause acts on the effect, directly or over others. */
function isConnected(arrows: readonly [number, number][], { cause, effect }: Analysis): boolean {
  return reached(arrows, cause).has(effect);
}

function solve({ names, arrows, analyses: all }: Given): Solution | null {
  const verdicts = all.map((one) => verdictOf(arrows, one));
  // A beginner adjusts for everything before the effect, or takes every common cause as enough.
  const simple = all.map(({ cause, effect, adjusted }) => {
    const isShared = arrows.some(
      ([from, to]) => to === cause && !adjusted.includes(from) && arrows.some(([a, b]) => a === from && b === effect),
    );
    return isShared ? "confounded" : "valid";
  });
  const lax = all.map((_, index) => (verdicts[index] === "overadjusted" ? "valid" : at(verdicts, index)));
  return {
    fields: verdicts.map((value, index) => ({ name: `T${index + 1}`, kind: "word", value, options: VERDICTS })),
    slips: [simple, lax],
    steps: all.length * arrows.length * names.length,
  };
}

/** Everything on which one acts. */
function reached(arrows: readonly [number, number][], start: number): Set<number> {
  const found = new Set<number>();
  const open = [start];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [from, to] of arrows) {
      if (from !== next || found.has(to)) continue;
      found.add(to);
      open.push(to);
    }
  }
  return found;
}

function verdictOf(
  arrows: readonly [number, number][],
  { cause, effect, adjusted }: Analysis,
): (typeof VERDICTS)[number] {
  const after = reached(arrows, cause);
  if (adjusted.some((one) => after.has(one))) return "overadjusted";
  const opens = (collider: number): boolean =>
    adjusted.includes(collider) || [...reached(arrows, collider)].some((one) => adjusted.includes(one));
  /** Walks simple paths; `isInto`: the last arrow points at the end of the path. */
  const walk = (path: readonly number[], isInto: boolean): boolean => {
    const here = path.at(-1) ?? cause;
    if (here === effect) return true;
    return arrows.some(([from, to]) => {
      if (from !== here && to !== here) return false;
      const next = from === here ? to : from;
      if (path.includes(next)) return false;
      const isCollider = isInto && to === here;
      if (isCollider ? !opens(here) : adjusted.includes(here)) return false;
      return walk([...path, next], from === here);
    });
  };
  const isOpen = arrows.some(([from, to]) => to === cause && from !== effect && walk([cause, from], false));
  return isOpen ? "confounded" : "valid";
}

function arrowLines({ names, arrows: all }: Given, rng: Rng): string {
  return all
    .map(([from, to]) => {
      const [a, b] = [at(names, from), at(names, to)];
      return `- ${rng.pick([`${a} acts on ${b}`, `${b} depends directly on ${a}`, `a change of ${a} changes ${b}`])}`;
    })
    .join("\n");
}

function analyses({ names, analyses: all }: Given): string {
  return numbered(
    all.map(({ cause, effect, adjusted }) => {
      const list =
        adjusted.length === 0
          ? "without any adjustment"
          : `adjusted for ${adjusted.map((one) => at(names, one)).join(", ")}`;
      return `Effect of ${at(names, cause)} on ${at(names, effect)}, ${list}`;
    }),
    "T",
  );
}
