/** contradiction-pairs: sentences that cannot both be true, where one of them states the fact by another calendar, end or span. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { numbered, sentence } from "../documents.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";

/** A sentence claims that the quantity of the building is in this range of whole numbers. */
interface Claim {
  building: number;
  quantity: "begun" | "finished" | "arches";
  low: number;
  high: number;
  /** How it is said: as a year, by an era, as a bound, or with a number. */
  form: "year" | "era" | "before" | "after" | "number" | "most" | "least";
}

interface Given {
  eras: { name: string; first: number }[];
  buildings: string[];
  claims: Claim[];
}

/** By level: sentences, buildings, eras, contradictions at most. */
const SIZES = [
  [12, 3, 1, 3],
  [16, 4, 1, 4],
  [22, 5, 2, 5],
  [32, 7, 3, 6],
  [44, 9, 4, 8],
] as const;
const FAR = 9_999;

export const contradictionPairs = fieldRow<Given>({
  id: "contradiction-pairs",
  asks: "all pairs of sentences that cannot both be true, over years of several eras and bounds",
  draw,
  solve,
  isShared: true,
  values: () => "the list of all such pairs, such as S2-S9, S4-S7",
  wordings: [
    (one, rng) =>
      `${shown(one, rng)}\n\n${eraText(one)} Which pairs of these sentences contradict each other? The two alone must be impossible together.`,
    (one, rng) =>
      `${eraText(one)}\n\nA reader marks pairs of sentences that cannot both be right, given only the eras above.\n\n${shown(one, rng)}\n\nFind every such pair.`,
    (one, rng) =>
      `Sentences from guide books:\n${shown(one, rng)}\n\nList each couple of sentences whose joint truth is excluded. ${eraText(one)}`,
    (one, rng) =>
      `Check these statements against one another, two at a time. ${eraText(one)}\n${shown(one, rng)}\nA pair belongs in the answer exactly when no state of affairs makes both of its sentences true.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, buildingCount, eraCount, most] = at(SIZES, level - 1);
  const names = distinct(eraCount + buildingCount, () => name(rng));
  const buildings = names.slice(eraCount);
  const truth = buildings.map(() => {
    const begun = between(rng, 1640, 1720);
    return { begun, finished: begun + between(rng, 4, 40), arches: between(rng, 20, 40) };
  });
  const claims = range(count).map((index): Claim => {
    const building = rng.integer(buildingCount);
    const quantity = rng.pick(["begun", "finished", "arches"] as const);
    // Most sentences are true; a wrong one is off by little.
    const slip = index < Math.ceil(most / 2) ? (rng.integer(2) === 0 ? 1 : -1) * between(rng, 3, 12) : 0;
    const value = at(truth, building)[quantity] + slip;
    if (quantity === "arches") {
      const form = rng.pick(["number", "most", "least"] as const);
      const room = form === "number" ? 0 : between(rng, 0, 3);
      return {
        building,
        quantity,
        form,
        low: form === "most" ? 0 : value - room,
        high: form === "least" ? FAR : value + room,
      };
    }
    const form = rng.pick(["year", "era", "era", "before", "after"] as const);
    const room = between(rng, 1, 6);
    if (form === "before") return { building, quantity, form, low: 0, high: value + room - 1 };
    if (form === "after") return { building, quantity, form, low: value - room + 1, high: FAR };
    return { building, quantity, form, low: value, high: value };
  });
  const eras = names.slice(0, eraCount).map((era) => ({ name: era, first: between(rng, 1500, 1630) }));
  return { eras, buildings, claims: shuffled(claims, rng) };
}

function solve({ claims }: Given): Solution | null {
  const marks = marksOf("S", claims.length);
  const pairs = range(claims.length).flatMap((a) =>
    range(claims.length)
      .filter((b) => b > a)
      .map((b): [number, number] => [a, b]),
  );
  const clash = ([a, b]: [number, number]): boolean => isClash(at(claims, a), at(claims, b));
  const found = pairs.filter(clash);
  const alike = pairs.filter(([a, b]) => {
    const [one, other] = [at(claims, a), at(claims, b)];
    return (
      one.building === other.building &&
      one.quantity === other.quantity &&
      one.form === other.form &&
      one.form !== "before" &&
      one.form !== "after" &&
      (one.low !== other.low || one.high !== other.high)
    );
  });
  if (found.length < 2 || found.length > Math.max(5, claims.length / 3)) return null;
  const named = (some: readonly [number, number][]): string =>
    marked(some.map(([a, b]) => `${at(marks, a)}-${at(marks, b)}`));
  return {
    fields: [{ name: "pairs", kind: "pairs", value: named(found), options: marks }],
    slips: [...(alike.length > 0 ? [[named(alike)]] : []), [named(found.slice(1))]],
    steps: pairs.length,
  };
}

/** Ranges of one quantity that do not meet; a building is begun no later than it is finished. */
function isClash(a: Claim, b: Claim): boolean {
  if (a.building !== b.building) return false;
  if (a.quantity === b.quantity) return a.high < b.low || b.high < a.low;
  if (a.quantity === "begun" && b.quantity === "finished") return a.low > b.high;
  if (a.quantity === "finished" && b.quantity === "begun") return b.low > a.high;
  return false;
}

function eraText({ eras: all }: Given): string {
  const texts = all.map(({ name: era, first }) => `year 1 of the era of ${era} is the common year ${first}`);
  return `${sentence(texts.join(", "))} No building was finished in a year before the one in which it was begun.`;
}

function shown({ eras: all, buildings, claims }: Given, rng: Rng): string {
  const texts = claims.map(({ building, quantity, form, low, high }) => {
    const bridge = `the bridge of ${at(buildings, building)}`;
    if (quantity === "arches") {
      if (form === "number") return rng.pick([`${bridge} has ${low} arches`, `${low} arches carry ${bridge}`]);
      return form === "most" ? `${bridge} has not more than ${high} arches` : `at least ${low} arches carry ${bridge}`;
    }
    const done =
      quantity === "begun" ? rng.pick(["was begun", "was started"]) : rng.pick(["was finished", "was completed"]);
    if (form === "before") return `${bridge} ${done} in ${high} or earlier`;
    if (form === "after") return `${bridge} ${done} not before ${low}`;
    const { name: era, first } = rng.pick(all);
    if (form === "era")
      return rng.pick([
        `${bridge} ${done} in year ${low - first + 1} of the era of ${era}`,
        `in year ${low - first + 1} after the count of ${era} ${bridge} ${done}`,
      ]);
    return `${bridge} ${done} in ${low}`;
  });
  return numbered(texts.map(sentence), "S");
}
