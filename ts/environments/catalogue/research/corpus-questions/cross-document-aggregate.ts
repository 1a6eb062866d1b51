/** cross-document-aggregate: count, sum and extreme over ships whose properties are spread over yards' lists, registers and letters. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { corpus, sentence } from "../documents.ts";
import { fieldRow, type Solution } from "../../field-row.ts";

interface Ship {
  name: string;
  yard: number;
  year: number;
  tons: number;
  /** Year in which it was lost; null for a ship that is still afloat. */
  lost: number | null;
}

interface Query {
  /** Town of the yard. */
  town: number;
  /** Launched in this year or later. */
  since: number;
  /** Only ships still afloat, or only ships lost; null: both. */
  isLost: boolean | null;
  /** Only ships heavier than this. */
  above: number;
}

interface Given {
  towns: string[];
  yards: { name: string; town: number }[];
  ships: Ship[];
  query: Query;
  /** Facts in the order of the documents: a ship's or yard's place and the kind of fact. */
  order: ["yard" | "launch" | "tons" | "lost", number][];
}

/** By level: ships, yards, towns, conditions beside the town. */
const SIZES = [
  [6, 3, 2, 0],
  [9, 4, 2, 1],
  [14, 6, 3, 2],
  [20, 8, 3, 3],
  [30, 10, 4, 3],
] as const;

/** Questions that are tried on the same ships. */
const QUERIES = 30;

export const crossDocumentAggregate = fieldRow<Given>({
  id: "cross-document-aggregate",
  asks: "number, total tonnage and heaviest of the ships that meet conditions on facts in different documents",
  draw,
  solve,
  isShared: true,
  values: () => "count and total are numbers, and heaviest is the name of a ship",
  wordings: [
    (one, rng) =>
      `${shown(one, rng)}\n\nConsider the ships ${condition(one)}. How many are there (count), how many tons do they have together (total), and which of them has the most tons (heaviest)?`,
    (one, rng) =>
      `A historian of shipping wants three figures about all vessels ${condition(one)}: their count, the total of their tons, and the heaviest one. The material:\n\n${shown(one, rng)}`,
    (one, rng) =>
      `Collect from the following scraps all ships ${condition(one)}.\n\n${shown(one, rng)}\n\nReport count (how many), total (sum of their tons) and heaviest (the name of the one with the highest tonnage).`,
    (one, rng) =>
      `Build the table yourself: no single source has it.\n${shown(one, rng)}\n\nSelection: ships ${condition(one)}.\nAggregates: count, total (tons), heaviest (name).`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [shipCount, yardCount, townCount, conditions] = at(SIZES, level - 1);
  const names = distinct(shipCount + yardCount + townCount, () => name(rng));
  const towns = names.splice(0, townCount);
  const yards = names.splice(0, yardCount).map((yard, index) => ({
    name: yard,
    town: index < townCount ? index : rng.integer(townCount),
  }));
  const ships = names.map((ship): Ship => {
    const year = between(rng, 1861, 1899);
    const lost = rng.integer(3) === 0 ? between(rng, year + 1, 1909) : null;
    return { name: ship, yard: rng.integer(yardCount), year, tons: 10 * between(rng, 12, 190), lost };
  });
  if (new Set(ships.map(({ tons }) => tons)).size < ships.length) return null;
  const order = shuffled(
    [
      ...range(yardCount).map((index): Given["order"][number] => ["yard", index]),
      ...ships.flatMap(({ lost }, index): Given["order"] => [
        ["launch", index],
        ["tons", index],
        ...(lost === null ? [] : [["lost", index] satisfies Given["order"][number]]),
      ]),
    ],
    rng,
  );
  const query = (): Query => ({
    town: rng.integer(townCount),
    since: conditions > 0 ? between(rng, 1868, 1880) : 0,
    isLost: conditions > 1 ? rng.integer(3) === 0 : null,
    above: conditions > 2 ? 10 * between(rng, 20, 60) : 0,
  });
  const queries = range(QUERIES).map(() => ({ towns, yards, ships, query: query(), order }));
  return queries.find((given) => solve(given) !== null) ?? null;
}

function solve({ yards, ships, query }: Given): Solution | null {
  const isIn = (ship: Ship): boolean => at(yards, ship.yard).town === query.town;
  const isYoung = (ship: Ship): boolean => ship.year >= query.since;
  const isState = (ship: Ship): boolean => query.isLost === null || (ship.lost !== null) === query.isLost;
  const isHeavy = (ship: Ship): boolean => ship.tons > query.above;
  const tests = [isIn, isYoung, isState, isHeavy];
  const valuesOf = (some: readonly Ship[]): string[] => {
    const heaviest = some.reduce((a, b) => (b.tons > a.tons ? b : a));
    return [String(some.length), String(some.reduce((sum, { tons }) => sum + tons, 0)), heaviest.name];
  };
  const found = ships.filter((ship) => tests.every((test) => test(ship)));
  if (found.length < 2 || found.length > ships.length * 0.7) return null;
  const [count = "", total = "", heaviest = ""] = valuesOf(found);
  const active = tests.filter((test) => !ships.every(test));
  const looser = active.map((left) => ships.filter((ship) => active.every((test) => test === left || test(ship))));
  // Every condition excludes a ship that meets the others.
  if (looser.some((some) => some.length === found.length)) return null;
  if (active.length < Number(query.since > 0) + Number(query.isLost !== null) + Number(query.above > 0) + 1)
    return null;
  return {
    fields: [
      { name: "count", kind: "number", value: count },
      { name: "total", kind: "number", value: total },
      { name: "heaviest", kind: "word", value: heaviest, options: ships.map((ship) => ship.name) },
    ],
    slips: [...looser.map(valuesOf), valuesOf(found.slice(1))],
    steps: ships.length * active.length + yards.length,
  };
}

function condition({ towns, query }: Given): string {
  const parts = [`that were built in a yard of ${at(towns, query.town)}`];
  if (query.since > 0) parts.push(`were launched in ${query.since} or later`);
  if (query.isLost !== null) parts.push(query.isLost ? "were lost at some time" : "were never lost");
  if (query.above > 0) parts.push(`have more than ${query.above} tons`);
  return parts.length === 1 ? at(parts, 0) : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

function shown({ towns, yards, ships, order }: Given, rng: Rng): string {
  const texts = order.map(([kind, index]) => {
    if (kind === "yard") {
      const { name: yard, town } = at(yards, index);
      const place = at(towns, town);
      return rng.pick([
        `the yard ${yard} lies on the quay of ${place}`,
        `in ${place} the slips of the yard ${yard} are busy`,
        `visitors to ${place} may see the yard ${yard}`,
      ]);
    }
    const ship = at(ships, index);
    const yard = at(yards, ship.yard).name;
    if (kind === "launch")
      return rng.pick([
        `the ${ship.name} left the slip of ${yard} in ${ship.year}`,
        `in ${ship.year} the yard ${yard} launched the ${ship.name}`,
        `we saw the ${ship.name} launched at ${yard}; that was in ${ship.year}`,
      ]);
    if (kind === "tons")
      return rng.pick([
        `the ${ship.name} measures ${ship.tons} tons`,
        `with ${ship.tons} tons the ${ship.name} pays the usual dues`,
        `entered: ${ship.name}, ${ship.tons} tons`,
      ]);
    return rng.pick([
      `in ${ship.lost} the ${ship.name} went down`,
      `the ${ship.name} was wrecked in the winter of ${ship.lost}`,
      `of the ${ship.name} nothing was heard after it sank in ${ship.lost}`,
    ]);
  });
  const documents: string[] = [];
  for (let first = 0; first < texts.length; first += 3)
    documents.push(
      texts
        .slice(first, first + 3)
        .map(sentence)
        .join(" "),
    );
  return corpus(documents, rng);
}
