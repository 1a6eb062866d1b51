/** strongest-path-ranking: the order of candidates by strongest paths of pairwise victories (Schulze's rule). */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  names: string[];
  /** Orders of preference, as places of names, and how many voters hold each. */
  ballots: { order: number[]; voters: number }[];
}

/** By level: candidates, different ballots. */
const SIZES = [
  [4, 4],
  [5, 5],
  [6, 7],
  [7, 8],
  [8, 10],
] as const;
const MOST_VOTERS = 9;

export const strongestPathRanking = fieldRow<Given>({
  id: "strongest-path-ranking",
  asks: "the order of candidates by the strongest paths of their pairwise victories",
  draw,
  solve,
  values: ({ names }) => `all ${names.length} candidates from the first to the last, separated by commas`,
  wordings: [
    (one) => `An election had these ballots:\n${ballotList(one)}\n\n${RULE} Rank the candidates.`,
    (one) => `${RULE}\n\nApply this rule to the following votes, each written from best to worst:\n${ballotList(one)}`,
    (one) =>
      `A club elects its chair with Schulze's rule. ${RULE}\nThe voters' orders of preference:\n${ballotList(one)}\nFind the complete order.`,
    (one, rng) =>
      `Count these preference lists:\n${ballotList({ ...one, ballots: shuffled(one.ballots, rng) })}\n\nSeveral majorities form circles, so the count goes by paths. ${RULE} State who comes first, second, and so on.`,
  ],
});

const RULE =
  "A beats B when more voters prefer A to B than B to A; the strength of this victory is the number of voters who prefer A. The strength of a path of victories is its weakest victory, and p(A, B) is the strength of the strongest path from A to B, or 0 without one. A stands above B when p(A, B) is larger than p(B, A).";

function draw(rng: Rng, level: Level): Given | null {
  const [count, kinds] = at(SIZES, level - 1);
  const names = "ABCDEFGH".slice(0, count).split("");
  const ballots = range(kinds).map(() => ({
    order: shuffled(range(count), rng),
    voters: rng.integer(MOST_VOTERS) + 2,
  }));
  return { names, ballots };
}

function solve({ names, ballots }: Given): Solution | null {
  const all = range(names.length);
  const prefer = all.map((a) =>
    all.map((b) =>
      ballots.reduce((sum, { order, voters }) => sum + (order.indexOf(a) < order.indexOf(b) ? voters : 0), 0),
    ),
  );
  const valueOf = (table: readonly (readonly number[])[], a: number, b: number): number => at(at(table, a), b);
  const wins = all.map((a) =>
    all.map((b) => (valueOf(prefer, a, b) > valueOf(prefer, b, a) ? valueOf(prefer, a, b) : 0)),
  );
  const paths = wins.map((row) => [...row]);
  let steps = 0;
  for (const middle of all) {
    for (const a of all) {
      for (const b of all) {
        if (a === b || a === middle || b === middle) continue;
        steps += 1;
        const through = Math.min(valueOf(paths, a, middle), valueOf(paths, middle, b));
        if (through > valueOf(paths, a, b)) at(paths, a)[b] = through;
      }
    }
  }
  const above = all.map((a) => all.filter((b) => valueOf(paths, a, b) > valueOf(paths, b, a)).length);
  if (new Set(above).size < names.length) return null;
  const listed = (scores: readonly number[]): string =>
    marked(all.toSorted((a, b) => at(scores, b) - at(scores, a) || a - b).map((one) => at(names, one)));
  const points = all.map((a) => at(prefer, a).reduce((sum, voters) => sum + voters, 0));
  const firsts = all.map((a) => ballots.reduce((sum, { order, voters }) => sum + (order[0] === a ? voters : 0), 0));
  const beaten = all.map((a) => at(wins, a).filter((strength) => strength > 0).length);
  return {
    fields: [{ name: "order", kind: "sequence", value: listed(above), options: names }],
    slips: [[listed(points)], [listed(firsts)], [listed(beaten)]],
    steps,
  };
}

function ballotList({ names, ballots }: Given): string {
  return ballots
    .map(({ order, voters }) => `${voters} voters: ${order.map((one) => at(names, one)).join(" > ")}`)
    .join("\n");
}
