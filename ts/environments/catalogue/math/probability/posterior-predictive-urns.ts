/** posterior-predictive-urns: the chance of the next draws from an urn of unknown kind after some draws were seen. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { compare, ONE, over, plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  /** `urns[kind][colour]`: balls. */
  urns: number[][];
  /** Urns of each kind. */
  prior: number[];
  /** Whether a drawn ball is put back. */
  isPutBack: boolean;
  /** Colours that were seen, in order. */
  seen: number[];
  /** Colours of the next draws that are asked, in this order. */
  next: number[];
}

const COLOURS = ["red", "green", "blue", "yellow"];
/** By level: kinds, colours, most balls of a colour, seen draws, asked draws. */
const SIZES = [
  [2, 2, 5, 1, 1],
  [2, 2, 6, 2, 1],
  [3, 3, 6, 2, 2],
  [4, 3, 8, 3, 2],
  [5, 4, 9, 4, 3],
] as const;

export const posteriorPredictiveUrns = exactRow<Problem>({
  id: "posterior-predictive-urns",
  asks: "the chance of the next draws from an urn of unknown kind after some draws",
  kind: "fraction",
  draw(rng, level) {
    const [kinds, colours, most, seen, next] = at(SIZES, level - 1);
    const colour = (): number => rng.integer(colours);
    return {
      urns: range(kinds).map(() => range(colours).map(() => between(rng, 0, most))),
      prior: range(kinds).map(() => between(rng, 1, 2 + level)),
      isPutBack: rng.integer(2) === 0,
      seen: range(seen).map(colour),
      next: range(next).map(colour),
    };
  },
  solve(problem) {
    const { urns, seen, next } = problem;
    const smallest = Math.min(...urns.map((urn) => urn.reduce((sum, balls) => sum + balls, 0)));
    const possible = urns.filter((urn) => chanceOf({ ...problem, urns: [urn], prior: [1] }, seen).n > 0n).length;
    if (smallest < seen.length + next.length || possible < 2) return null;
    const value = over(chanceOf(problem, [...seen, ...next]), chanceOf(problem, seen));
    if (value.n === 0n || compare(value, ONE) === 0 || value.d <= 3n) return null;
    const steps = urns.length * at(urns, 0).length * (seen.length + next.length) ** 2;
    return { value: textOf(value), steps };
  },
  prompts: [
    (one) =>
      `A room holds urns of ${one.urns.length} kinds:\n${urnTexts(one)}\nAn urn is chosen at random, all urns being equally likely, and balls are drawn from it one by one, ${back(one)}. The first draws were ${colourNames(one.seen)}. What is the probability that the following ${draws(one)} ${colourNames(one.next)}? Give an exact fraction.`,
    (one) =>
      `Bags in a store (contents of one bag):\n${urnTexts(one)}\nSomebody took a bag at random and drew from it at random, ${back(one)}: ${colourNames(one.seen)}, in this order. Find the predictive probability of ${colourNames(one.next)} for what comes directly after that, as a fraction.`,
    (one) =>
      `Hypotheses about a container, with the numbers of containers that exist as prior weights:\n${urnTexts(one)}\nDraws from one and the same container, ${back(one)}, gave ${colourNames(one.seen)}. Compute P(the next is ${colourNames(one.next)} | data) exactly${one.next.length > 1 ? " (all of these, in this order)" : ""}.`,
    (one) =>
      `You do not know which of these machines stands before you; every single machine is equally likely.\n${urnTexts(one)}\nIt throws out randomly chosen balls (${back(one)}). So far you saw ${colourNames(one.seen)}. With which probability will you now see ${colourNames(one.next)}${one.next.length > 1 ? ", in this order" : ""}? Answer: a fraction.`,
  ],
  slips(problem) {
    const { urns, prior, seen, next } = problem;
    const posterior = (one: Problem): Rational => {
      const known = chanceOf(one, seen);
      return known.n === 0n ? ZERO : over(chanceOf(one, [...seen, ...next]), known);
    };
    const pooled = range(at(urns, 0).length).map((colour) => urns.reduce((sum, urn) => sum + at(urn, colour), 0));
    const balls = pooled.reduce((sum, count) => sum + count, 0);
    return [
      chanceOf(problem, [...seen, ...next]),
      chanceOf(problem, next),
      posterior({ ...problem, prior: prior.map(() => 1) }),
      posterior({ ...problem, isPutBack: !problem.isPutBack }),
      ratio(at(pooled, at(next, 0)), balls),
    ].map(textOf);
  },
});

/** The probability of these draws in order, before anything is known. */
function chanceOf({ urns, prior, isPutBack }: Problem, drawn: readonly number[]): Rational {
  const all = prior.reduce((sum, weight) => sum + weight, 0);
  return urns.reduce((sum, urn, kind) => {
    const left = [...urn];
    let chance = ratio(at(prior, kind), all);
    for (const colour of drawn) {
      const balls = left.reduce((count, one) => count + one, 0);
      if (balls === 0) return sum;
      chance = times(chance, ratio(at(left, colour), balls));
      if (!isPutBack) left[colour] = Math.max(0, at(left, colour) - 1);
    }
    return plus(sum, chance);
  }, ZERO);
}

function urnTexts({ urns, prior }: Problem): string {
  return urns
    .map((urn, kind) => {
      const balls = urn.map((count, colour) => `${count} ${at(COLOURS, colour)}`).join(", ");
      return `- ${at(prior, kind)} of kind ${kind + 1}, with ${balls}`;
    })
    .join("\n");
}

function back({ isPutBack }: Problem): string {
  return isPutBack ? "each ball being put back before the next draw" : "without putting any ball back";
}

function colourNames(list: readonly number[]): string {
  return list.map((colour) => at(COLOURS, colour)).join(", then ");
}

function draws({ next }: Problem): string {
  return next.length === 1 ? "draw is" : `${next.length} draws are`;
}
