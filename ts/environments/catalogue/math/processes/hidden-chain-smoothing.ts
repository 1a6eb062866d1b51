/** hidden-chain-smoothing: the distribution of a hidden state at one time, given all signals before and after it. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { over, plus, type Rational, ratio, textOf, times, total, ZERO } from "../rational.ts";

interface Problem {
  /** Tenths; lists of probabilities sum to 10. */
  start: number[];
  moves: number[][];
  signals: number[][];
  seen: number[];
  /** Time, from 0, and state that are asked. */
  time: number;
  state: number;
}

const STATES = ["calm", "windy", "stormy"];
const SIGNALS = ["white", "yellow", "red"];
/** By level: states, signals, least and most times. */
const SIZES = [
  [2, 2, 2, 2],
  [2, 2, 3, 3],
  [2, 3, 4, 5],
  [3, 3, 4, 5],
  [3, 3, 6, 7],
] as const;

export const hiddenChainSmoothing = exactRow<Problem>({
  id: "hidden-chain-smoothing",
  asks: "the probability of a hidden state at one time, given all signals",
  kind: "fraction",
  draw(rng, level) {
    const [states, signals, least, most] = at(SIZES, level - 1);
    const tenths = (count: number): number[] => {
      const parts = range(count).map(() => 1);
      for (let left = 10 - count; left > 0; left--) {
        const place = rng.integer(count);
        parts[place] = at(parts, place) + 1;
      }
      return parts;
    };
    const length = between(rng, least, most);
    return {
      start: tenths(states),
      moves: range(states).map(() => tenths(states)),
      signals: range(states).map(() => tenths(signals)),
      seen: range(length).map(() => rng.integer(signals)),
      time: rng.integer(length - 1),
      state: rng.integer(states),
    };
  },
  solve(problem) {
    const value = posterior(problem, problem.seen.length);
    const filtered = posterior(problem, problem.time + 1);
    // What comes later must change something.
    if (textOf(value) === textOf(filtered)) return null;
    return { value: textOf(value), steps: problem.seen.length * problem.start.length ** 3 };
  },
  prompts: [
    (one) =>
      `The weather of a far coast is ${statesText(one)} and follows a Markov chain from day to day. On day 1: ${list(one.start, STATES)}. Then:\n${rows(one.moves, "after a # day", STATES)}\nEvery day a flag is seen whose colour depends on the weather of that day only:\n${rows(one.signals, "on a # day", SIGNALS)}\nThe flags of days 1 to ${one.seen.length} were ${flags(one)}. Given all of them, what is the probability that day ${one.time + 1} was ${at(STATES, one.state)}? Give an exact fraction.`,
    (one) =>
      `Hidden Markov model, probabilities in tenths written as n/10.\nInitial: ${list(one.start, STATES)}\n${rows(one.moves, "transition from #", STATES)}\n${rows(one.signals, "emission in #", SIGNALS)}\nObserved at t = 1, 2, ...: ${flags(one)}. Compute P(state at t = ${one.time + 1} is ${at(STATES, one.state)} | the whole observation) as a fraction.`,
    (one) =>
      `A sensor reports colours, not the state that you want to know. States: ${statesText(one)}.\n${rows(one.signals, "report in state #", SIGNALS)}\nBetween reports the state changes at random:\n${rows(one.moves, "next, from #", STATES)}\nBefore the first report the chances are ${list(one.start, STATES)}. Reports: ${flags(one)}. How likely is it, after all these reports, that the state at report number ${one.time + 1} was "${at(STATES, one.state)}"? Answer with an exact fraction.`,
    (one) =>
      `Find the smoothed probability of ${at(STATES, one.state)} at step ${one.time + 1} of ${one.seen.length}, with the evidence of all steps: ${flags(one)}.\nPrior at step 1: ${list(one.start, STATES)}.\n${rows(one.moves, "step from #", STATES)}\n${rows(one.signals, "signal of #", SIGNALS)}\nThe result is a rational number; write it as a fraction.`,
  ],
  slips(problem) {
    const { seen, time, state, start } = problem;
    return [
      posterior(problem, time + 1),
      posterior({ ...problem, time: seen.length - 1 }, seen.length),
      posterior({ ...problem, state: (state + 1) % start.length }, seen.length),
      ratio(at(start, state), 10),
    ].map(textOf);
  },
});

/** Forward to the asked time, and backward to it from the last of the first `count` signals. */
function posterior({ start, moves, signals, seen, time, state }: Problem, count: number): Rational {
  const places = range(start.length);
  const emit = (one: number, when: number): Rational => ratio(at(at(signals, one), at(seen, when)), 10);
  let forward = places.map((one) => times(ratio(at(start, one), 10), emit(one, 0)));
  for (let when = 1; when <= time; when++) {
    const before = forward;
    forward = places.map((to) => {
      const inflow = total(places.map((from) => times(at(before, from), ratio(at(at(moves, from), to), 10))));
      return times(inflow, emit(to, when));
    });
  }
  let backward = places.map(() => ratio(1));
  for (let when = count - 1; when > time; when--) {
    const after = backward;
    backward = places.map((from) =>
      total(places.map((to) => times(times(ratio(at(at(moves, from), to), 10), emit(to, when)), at(after, to)))),
    );
  }
  const joint = places.map((one) => times(at(forward, one), at(backward, one)));
  return over(at(joint, state), joint.reduce(plus, ZERO));
}

function statesText({ start }: Problem): string {
  return STATES.slice(0, start.length).join(", ");
}

function list(tenths: readonly number[], names: readonly string[]): string {
  return tenths.map((tenth, index) => `${at(names, index)} ${tenth}/10`).join(", ");
}

function rows(table: readonly (readonly number[])[], head: string, names: readonly string[]): string {
  return table.map((row, state) => `- ${head.replace("#", at(STATES, state))}: ${list(row, names)}`).join("\n");
}

function flags({ seen }: Problem): string {
  return seen.map((signal) => at(SIGNALS, signal)).join(", ");
}
