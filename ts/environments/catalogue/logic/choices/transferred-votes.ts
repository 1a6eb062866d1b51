/** transferred-votes: who is elected and who drops out, in order, when surpluses are transferred by exact fractions. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  names: string[];
  seats: number;
  ballots: { order: number[]; voters: number }[];
}

/** By level: candidates, seats, different ballots. */
const SIZES = [
  [4, 1, 5],
  [5, 2, 6],
  [6, 2, 8],
  [7, 3, 10],
  [8, 3, 13],
] as const;

export const transferredVotes = fieldRow<Given>({
  id: "transferred-votes",
  asks: "who is elected and who drops out, in order, when surpluses and dropped votes are transferred",
  draw,
  solve,
  values: () =>
    "elected lists the winners in the order in which they were elected, and out lists those who dropped out in their order, separated by commas",
  wordings: [
    (one) => `${ballotList(one)}\n\n${rule(one)} Carry out the count.`,
    (one) =>
      `${rule(one)}\n\nThe papers in the box:\n${ballotList(one)}\n\nWho is elected in which order, and who is excluded in which order?`,
    (one) =>
      `Scrutineers count an election with ${one.seats} to be filled.\n${ballotList(one)}\nTheir instruction: ${rule(one)}`,
    (one) =>
      `Perform the transfers of a single transferable vote. ${rule(one)} Votes by order of preference:\n${ballotList(one)}\nAll arithmetic is in exact fractions.`,
  ],
});

function rule({ seats }: Given): string {
  return `Seats: ${seats}. The quota is the whole number after (votes / (seats + 1)). In each round every paper counts, with its value (1 at first), for its first candidate who is neither elected nor out. Is somebody at the quota or above, the one with the most votes is elected, and the papers that counted for this candidate go on with their value times (votes - quota) / votes. Otherwise the candidate with the fewest votes is out, and these papers go on with their value unchanged. The count ends when all seats are filled; candidates left over are neither elected nor out.`;
}

function draw(rng: Rng, level: Level): Given | null {
  const [count, seats, kinds] = at(SIZES, level - 1);
  const names = "ABCDEFGH".slice(0, count).split("");
  const ballots = range(kinds).map(() => ({ order: shuffled(range(count), rng), voters: rng.integer(17) + 3 }));
  return { names, seats, ballots };
}

interface Count {
  readonly elected: number[];
  readonly out: number[];
  readonly steps: number;
}

/** `scaled`: whether a surplus keeps only its part; papers move in full otherwise. Null at ties. */
function counted({ names, seats, ballots }: Given, scaled: boolean): Count | null {
  const total = ballots.reduce((sum, { voters }) => sum + voters, 0);
  const quota = BigInt(Math.floor(total / (seats + 1)) + 1);
  // Values have one denominator, which grows with every transfer.
  let denominator = 1n;
  let values = ballots.map(({ voters }) => BigInt(voters));
  const [elected, out]: [number[], number[]] = [[], []];
  let steps = 0;
  while (elected.length < seats) {
    const left = range(names.length).filter((one) => !elected.includes(one) && !out.includes(one));
    if (left.length === 0) return null;
    const firsts = ballots.map(({ order }) => order.find((one) => left.includes(one)) ?? -1);
    steps += ballots.length * left.length;
    const votes = left.map((one) =>
      values.reduce((sum, value, index) => (firsts[index] === one ? sum + value : sum), 0n),
    );
    const most = votes.reduce((a, b) => (b > a ? b : a));
    const wins = most >= quota * denominator;
    const mark = wins ? most : votes.reduce((a, b) => (b < a ? b : a));
    if (votes.filter((one) => one === mark).length > 1) return null;
    const chosen = at(left, votes.indexOf(mark));
    (wins ? elected : out).push(chosen);
    if (!wins || !scaled) continue;
    const surplus = mark - quota * denominator;
    values = values.map((value, index) => value * (firsts[index] === chosen ? surplus : mark));
    denominator *= mark;
  }
  return { elected, out, steps };
}

function solve(given: Given): Solution | null {
  const { names, seats } = given;
  const right = counted(given, true);
  const full = counted(given, false);
  if (right === null || full === null || right.out.length < 2) return null;
  const named = (list: readonly number[]): string => marked(list.map((one) => at(names, one)));
  const firsts = range(names.length).map((one) =>
    given.ballots.reduce((sum, { order, voters }) => sum + (order[0] === one ? voters : 0), 0),
  );
  const simple = range(names.length).toSorted((a, b) => at(firsts, b) - at(firsts, a));
  const slips = [[named(simple.slice(0, seats)), named(simple.slice(seats).toReversed())]];
  // With one seat nothing of a surplus is ever moved.
  if (seats > 1) slips.push([named(full.elected), named(full.out)]);
  return {
    fields: [
      { name: "elected", kind: "sequence", value: named(right.elected), options: names },
      { name: "out", kind: "sequence", value: named(right.out), options: names },
    ],
    slips: slips.filter(([first, second]) => first !== "" && second !== ""),
    steps: right.steps,
  };
}

function ballotList({ names, ballots }: Given): string {
  return ballots
    .map(({ order, voters }) => `${voters} times ${order.map((one) => at(names, one)).join(", ")}`)
    .join("\n");
}
