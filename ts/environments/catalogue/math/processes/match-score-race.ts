/** match-score-race: the chance to win a match with a service, a target score and a lead of two. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { compare, minus, ONE, plus, type Rational, ratio, solveLinear, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  /** Chance that A wins a rally, while A serves and while B serves: `[numerator, denominator]`. */
  chances: [[number, number], [number, number]];
  /** Who serves next: the winner of the rally, or the other player than before. */
  rule: "winner" | "alternate";
  target: number;
  score: [number, number];
  /** Lead that is needed to win. */
  lead: number;
}

/** By level: least and most points that are missing for A, lead, largest denominator. */
const SIZES = [
  [1, 2, 1, 4],
  [2, 3, 1, 5],
  [2, 3, 2, 5],
  [4, 5, 2, 6],
  [6, 8, 2, 6],
] as const;

export const matchScoreRace = exactRow<Problem>({
  id: "match-score-race",
  asks: "the chance to win a match with a service, a target score and a lead",
  kind: "fraction",
  draw(rng, level) {
    const [least, most, lead, bottom] = at(SIZES, level - 1);
    const chance = (): [number, number] => {
      const denominator = between(rng, 3, bottom);
      return [between(rng, 1, denominator - 1), denominator];
    };
    const target = between(rng, most + 1, most + 8);
    const missing = (): number => target - between(rng, least, most);
    return {
      chances: [chance(), chance()],
      rule: rng.pick(["winner", "alternate"] as const),
      target,
      score: [missing(), missing()],
      lead,
    };
  },
  solve(problem) {
    const { chances, target, score, lead } = problem;
    const [serving, receiving] = chances.map(([n, d]) => ratio(n, d));
    if (serving === undefined || receiving === undefined || compare(serving, receiving) === 0) return null;
    const [a, b] = score.map((points) => target - points);
    return { value: textOf(valueOf(problem)), steps: (a ?? 0) * (b ?? 0) * (lead === 1 ? 1 : 3) };
  },
  prompts: [
    (one) =>
      `A and B play rallies. ${serve(one)} A wins a rally with probability ${chanceText(one, 0)} when A serves and ${chanceText(one, 1)} when B serves. ${goal(one)} The score is ${one.score.join(" to ")} (A's points first) and A serves now. What is the probability that A wins the match? Give an exact fraction.`,
    (one) =>
      `In a sport for two, the server of a point matters: A gets the point with chance ${chanceText(one, 0)} on A's own service and with chance ${chanceText(one, 1)} on B's service. ${serve(one)} ${goal(one)} At ${one.score[0]} points for A and ${one.score[1]} for B, with A to serve, how likely is a victory of A, as a fraction?`,
    (one) =>
      `Model of a match: every point is won by A with probability p = ${chanceText(one, 0)} if A has the service, q = ${chanceText(one, 1)} if B has it, independently. ${serve(one)} ${goal(one)} Compute exactly the probability that A wins from the score ${one.score.join(":")} (A:B), A having the service.`,
    (one) =>
      `${goal(one)} ${serve(one)} When A opens a rally, A wins it in ${chanceText(one, 0)} of cases, and when B opens it, A wins in ${chanceText(one, 1)} of cases. The score is ${one.score.join("-")} (A's points, then B's), and A is about to open. Determine A's winning probability (fraction).`,
  ],
  slips(problem) {
    const { chances, rule } = problem;
    const [[n, d], second] = chances;
    return [
      valueOf({ ...problem, rule: rule === "winner" ? "alternate" : "winner" }),
      valueOf({ ...problem, chances: [chances[0], chances[0]] }),
      valueOf({ ...problem, chances: [second, chances[0]] }),
      valueOf({ ...problem, lead: problem.lead === 1 ? 2 : 1 }),
      ratio(n, d),
    ].map(textOf);
  },
});

function valueOf({ chances, rule, target, score, lead }: Problem): Rational {
  const wins = chances.map(([n, d]) => ratio(n, d));
  const after = (server: number, winner: number): number => (rule === "winner" ? winner : 1 - server);
  const even = lead === 1 ? [] : evenValues(wins, after);
  const known = new Map<string, Rational>();
  const value = (a: number, b: number, server: number): Rational => {
    if (lead > 1 && a === b && a >= target - 1) return at(even, server);
    if (a >= target && a - b >= lead) return ONE;
    if (b >= target && b - a >= lead) return ZERO;
    const key = `${a},${b},${server}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const share = at(wins, server);
    const won = times(share, value(a + 1, b, after(server, 0)));
    const result = plus(won, times(minus(ONE, share), value(a, b + 1, after(server, 1))));
    known.set(key, result);
    return result;
  };
  return value(score[0], score[1], 0);
}

/** At an even score near the end two points in a row decide: the values for A as server and for B as server. */
function evenValues(wins: readonly Rational[], after: (server: number, winner: number) => number): Rational[] {
  const rows = [0, 1].map((server) => {
    // One rally, and then the second one.
    const row = [0, 1].map((other) => (other === server ? ONE : ZERO));
    let right = ZERO;
    for (const first of [0, 1]) {
      const next = after(server, first);
      const firstChance = first === 0 ? at(wins, server) : minus(ONE, at(wins, server));
      for (const second of [0, 1]) {
        const share = times(firstChance, second === 0 ? at(wins, next) : minus(ONE, at(wins, next)));
        if (first === second) right = first === 0 ? plus(right, share) : right;
        else {
          const back = after(next, second);
          row[back] = minus(at(row, back), share);
        }
      }
    }
    return { row, right };
  });
  const solved = solveLinear(
    rows.map(({ row }) => row),
    rows.map(({ right }) => right),
  );
  if (solved === null) throw new RangeError("the match may never end");
  return solved;
}

function chanceText({ chances }: Problem, server: 0 | 1): string {
  const [n, d] = chances[server];
  return `${n}/${d}`;
}

function serve({ rule }: Problem): string {
  return rule === "winner" ? "The winner of a rally serves in the next one." : "The service changes after every rally.";
}

function goal({ target, lead }: Problem): string {
  return lead === 1
    ? `The first to reach ${target} points wins the match.`
    : `The match is won by who first has at least ${target} points and a lead of at least ${lead}.`;
}
