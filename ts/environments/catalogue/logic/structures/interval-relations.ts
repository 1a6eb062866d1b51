/** interval-relations: which of Allen's relations between two intervals remain possible, by given relations of others. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Fact {
  first: number;
  second: number;
  relations: string[];
}

interface Given {
  count: number;
  facts: Fact[];
  /** Pairs whose relation is asked for. */
  asked: [number, number][];
}

const RELATIONS = [
  "before",
  "meets",
  "overlaps",
  "starts",
  "during",
  "finishes",
  "equals",
  "finished-by",
  "contains",
  "started-by",
  "overlapped-by",
  "met-by",
  "after",
];
/** By level: intervals, facts, most relations of a fact. */
const SIZES = [
  [4, 4, 1],
  [5, 7, 2],
  [6, 10, 2],
  [8, 17, 2],
  [10, 26, 2],
] as const;
/** Pairs that are asked for, and most relations that may remain for one. */
const ASKED = 2;
const MOST_POSSIBLE = 6;

type Times = readonly [start: number, end: number];

export const intervalRelations = fieldRow<Given>({
  id: "interval-relations",
  asks: "which relations between two time intervals remain possible after what is known of others",
  draw,
  solve,
  values: () => "each value lists all possible relations, separated by commas",
  wordings: [
    (one) => `${facts(one)}\n\n${RULE} ${question(one)}`,
    (one) => `${question(one)} ${RULE}\n\nThis much is known about where the intervals lie:\n${facts(one)}`,
    (one) =>
      `Historians know of ${one.count} reigns only how some lie to others in time.\n${facts(one)}\n${question(one)}\n${RULE}`,
    (one) => `${RULE}\n\nA network of such relations:\n${facts(one)}\n\nReduce it as far as it goes. ${question(one)}`,
  ],
});

const RULE =
  "Intervals have a start before their end. X before Y: X ends earlier than Y starts; meets: X ends when Y starts; overlaps: X starts first, Y starts before X ends, and X ends first; starts: same start, X ends first; during: X starts later and ends earlier than Y; finishes: same end, X starts later; equals: both the same. after, met-by, overlapped-by, started-by, contains, finished-by are the same with X and Y exchanged. Of several relations in one line exactly one holds.";

function relationOf([a, b]: Times, [c, d]: Times): string {
  if (b < c) return "before";
  if (d < a) return "after";
  if (b === c) return "meets";
  if (d === a) return "met-by";
  if (a === c) return b === d ? "equals" : b < d ? "starts" : "started-by";
  if (b === d) return a > c ? "finishes" : "finished-by";
  if (a > c) return b < d ? "during" : "overlapped-by";
  return b > d ? "contains" : "overlaps";
}

const ALL = 2 ** RELATIONS.length - 1;

/** `TABLE[r][s]`: relations of X and Z, one bit each, when X r Y and Y s Z; read off all orders of six points. */
const TABLE = composed();

function composed(): number[][] {
  const intervals = range(6).flatMap((start) =>
    range(6)
      .filter((end) => end > start)
      .map((end): Times => [start, end]),
  );
  const table = RELATIONS.map(() => RELATIONS.map(() => 0));
  const placeOf = (x: Times, y: Times): number => RELATIONS.indexOf(relationOf(x, y));
  for (const x of intervals)
    for (const y of intervals) {
      const row = at(table, placeOf(x, y));
      for (const z of intervals) {
        const second = placeOf(y, z);
        row[second] = at(row, second) | (1 << placeOf(x, z));
      }
    }
  return table;
}

/** Relations of X and Z when X and Y have one of `first`, Y and Z one of `second`. */
function composition(first: number, second: number): number {
  let found = 0;
  for (const [r, row] of TABLE.entries()) {
    if (((first >> r) & 1) === 0) continue;
    for (const [s, allowed] of row.entries()) if ((second >> s) & 1) found |= allowed;
    if (found === ALL) return ALL;
  }
  return found;
}

function converse(set: number): number {
  return RELATIONS.reduce((bits, _, place) => ((set >> place) & 1 ? bits | (1 << (12 - place)) : bits), 0);
}

function setOf(relations: readonly string[]): number {
  return relations.reduce((bits, one) => bits | (1 << RELATIONS.indexOf(one)), 0);
}

function draw(rng: Rng, level: Level): Given | null {
  const [count, factCount, most] = at(SIZES, level - 1);
  const times = range(count).map((): Times => {
    const start = rng.integer(8);
    return [start, start + 1 + rng.integer(6)];
  });
  const pairs = shuffled(
    range(count).flatMap((a) => range(a).map((b): [number, number] => (rng.integer(2) === 0 ? [a, b] : [b, a]))),
    rng,
  );
  const asked = pairs.splice(0, ASKED);
  const drawn = pairs.slice(0, factCount).map(([first, second]): Fact => {
    const right = relationOf(at(times, first), at(times, second));
    const others = sample(
      RELATIONS.filter((one) => one !== right),
      rng.integer(most),
      rng,
    );
    return { first, second, relations: RELATIONS.filter((one) => one === right || others.includes(one)) };
  });
  return { count, facts: drawn, asked };
}

type Network = number[][];

function withRelation(net: Network, [a, b]: readonly [number, number], relations: number): Network {
  const copy = net.map((row) => [...row]);
  at(copy, a)[b] = relations;
  at(copy, b)[a] = converse(relations);
  return copy;
}

/** Narrows all pairs by what lies between until nothing changes; null where a pair has no relation left. */
function narrowed(from: Network, work: { steps: number }): Network | null {
  let net = from;
  const all = range(from.length);
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const a of all)
      for (const c of range(a)) {
        const own = at(at(net, a), c);
        let left = own;
        for (const b of all) {
          if (b === a || b === c) continue;
          work.steps += 1;
          left &= composition(at(at(net, a), b), at(at(net, b), c));
        }
        if (left === 0) return null;
        if (left === own) continue;
        net = withRelation(net, [a, c], left);
        isChanged = true;
      }
  }
  return net;
}

/** Narrowing decides once every pair has one relation; until then the first open pair is tried out. */
function isPossible(from: Network, work: { steps: number }): boolean {
  const net = narrowed(from, work);
  if (net === null) return false;
  for (const a of range(net.length))
    for (const b of range(a)) {
      const own = at(at(net, a), b);
      if ((own & (own - 1)) === 0) continue;
      return bitsOf(own).some((one) => isPossible(withRelation(net, [a, b], one), work));
    }
  return true;
}

function bitsOf(set: number): number[] {
  return RELATIONS.map((_, place) => 1 << place).filter((bit) => (set & bit) !== 0);
}

function solve({ count, facts: known, asked }: Given): Solution | null {
  let network: Network = range(count).map(() => range(count).map(() => ALL));
  for (const { first, second, relations } of known) network = withRelation(network, [first, second], setOf(relations));
  const work = { steps: 0 };
  const narrow = narrowed(network, work);
  if (narrow === null) return null;
  const open = asked.map(([x, y]) => at(at(narrow, x), y));
  if (open.some((set) => set === ALL || bitsOf(set).length > MOST_POSSIBLE + 2)) return null;
  const possible = asked.map((pair, index) =>
    bitsOf(at(open, index))
      .filter((one) => isPossible(withRelation(narrow, pair, one), work))
      .reduce((bits, one) => bits | one, 0),
  );
  if (possible.some((set) => bitsOf(set).length > MOST_POSSIBLE)) return null;
  const named = (sets: readonly number[]): string[] =>
    sets.map((set) => marked(RELATIONS.filter((_, place) => (set >> place) & 1)));
  return {
    fields: named(possible).map((value, index) => ({ name: `q${index + 1}`, kind: "set", value, options: RELATIONS })),
    slips: [named(possible.map((set) => ALL & ~set)), named(possible.map(() => ALL))],
    steps: work.steps,
  };
}

function facts({ facts: known }: Given): string {
  return known
    .map(({ first, second, relations }) => `- I${first + 1} ${relations.join(" or ")} I${second + 1}`)
    .join("\n");
}

function question({ asked }: Given): string {
  const pairs = asked.map(([x, y], index) => `q${index + 1}: of I${x + 1} to I${y + 1}`).join("; ");
  return `Which relations, in this order of the two, are possible? ${pairs}.`;
}
