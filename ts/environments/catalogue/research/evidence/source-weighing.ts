/** source-weighing: the probability of an event after reports of sources with known error rates, some of which repeat another source. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { ONE, over, plus, type Rational, ratio, textOf, times, minus } from "../../math/rational.ts";
import type { Level } from "../../row.ts";
import { bullets } from "../documents.ts";
import { fieldRow, type Solution } from "../../field-row.ts";

interface Source {
  name: string;
  /** In tenths: how often it says "yes" when the event took place, and when it did not. */
  hit: number;
  alarm: number;
  saysYes: boolean;
  /** The earlier source that it repeats in `copies` tenths of all cases; null for an independent one. */
  from: number | null;
  copies: number;
}

interface Given {
  /** Prior in tenths. */
  prior: number;
  sources: Source[];
  order: number[];
}

/** By level: sources, sources that repeat others. */
const SIZES = [
  [2, 0],
  [3, 0],
  [3, 1],
  [5, 2],
  [7, 4],
] as const;

export const sourceWeighing = fieldRow<Given>({
  id: "source-weighing",
  asks: "the exact probability of an event after reports of sources with known error rates, some of which copy others",
  draw,
  solve,
  values: () => "the probability as a fraction in lowest terms, such as 5/12",
  canonical: ({ prior, sources }) => ({
    prior,
    sources: sources.map(({ hit, alarm, saysYes, from, copies }) => [hit, alarm, saysYes, from, copies]),
  }),
  wordings: [
    (one) =>
      `${shown(one)}\n\n${dependence(one)}Before any report the fleet had arrived with probability ${one.prior}/10. How probable is it after all these reports?`,
    (one) =>
      `Did the fleet arrive? Without reports the probability is ${one.prior}/10. ${dependence(one)}Reports and track records:\n${shown(one)}\n\nCompute the exact probability of the arrival given everything that was said.`,
    (one) =>
      `Weigh these witnesses of the arrival of a fleet:\n${shown(one)}\n\n${dependence(one)}Start from odds that correspond to ${one.prior}/10 and find the posterior probability of the arrival.`,
    (one) =>
      `Prior probability that the fleet is in the harbour: ${one.prior}/10.\n${dependence(one)}\n${shown(one)}\n\nUpdate on all reports together; what is the probability now?`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, copying] = at(SIZES, level - 1);
  const names = distinct(count, () => name(rng));
  const sources = names.map((one, index): Source => {
    const alarm = between(rng, 1, 5);
    const isCopy = index >= count - copying;
    return {
      name: one,
      hit: between(rng, alarm + 1, 9),
      alarm,
      saysYes: rng.integer(3) > 0,
      from: isCopy ? rng.integer(index) : null,
      copies: isCopy ? between(rng, 2, 8) : 0,
    };
  });
  return { prior: between(rng, 1, 6), sources, order: shuffled(range(count), rng) };
}

function solve({ prior, sources }: Given): Solution | null {
  const p = ratio(prior, 10);
  const posterior = (some: readonly Source[], start: Rational): string => {
    const [yes, no] = [times(start, likelihood(some, true)), times(minus(ONE, start), likelihood(some, false))];
    return textOf(over(yes, plus(yes, no)));
  };
  const value = posterior(sources, p);
  const alone = sources.map((one) => ({ ...one, from: null, copies: 0 }));
  const symmetric = sources.map((one) => ({ ...one, alarm: 10 - one.hit }));
  const votes = sources.filter(({ saysYes }) => saysYes).length;
  const isCopying = sources.some(({ from }) => from !== null);
  return {
    fields: [{ name: "probability", kind: "number", value }],
    slips: [
      ...(prior === 5 ? [] : [[posterior(sources, ratio(1, 2))]]),
      ...(isCopying ? [[posterior(alone, p)]] : []),
      ...(sources.every(({ hit, alarm }) => hit + alarm === 10) ? [] : [[posterior(symmetric, p)]]),
      [textOf(ratio(votes, sources.length))],
    ],
    steps: sources.reduce((sum, { from }) => sum + (from === null ? 2 : 5), 2),
  };
}

/** Probability of all reports, each given the earlier ones. */
function likelihood(sources: readonly Source[], isTrue: boolean): Rational {
  return sources.reduce((product, { hit, alarm, saysYes, from, copies }) => {
    const yes = ratio(isTrue ? hit : alarm, 10);
    const own = saysYes ? yes : minus(ONE, yes);
    if (from === null) return times(product, own);
    const copied = at(sources, from).saysYes === saysYes ? ratio(copies, 10) : ratio(0);
    return times(product, plus(copied, times(ratio(10 - copies, 10), own)));
  }, ONE);
}

function dependence({ sources }: Given): string {
  if (sources.every(({ from }) => from === null)) return "Given the truth, the reports are independent. ";
  return "Where a report is not copied, the reporter judges alone by the stated rates, independently of all others given the truth; whether it is copied is decided by chance, whatever the truth is. ";
}

function shown({ sources, order }: Given): string {
  return bullets(
    order.map((index) => {
      const { name: who, hit, alarm, saysYes, from, copies } = at(sources, index);
      const copy =
        from === null ? "" : ` In ${copies} of 10 cases ${who} only repeats the report of ${at(sources, from).name}.`;
      return `${who} ${saysYes ? "says that the fleet has arrived" : "denies that the fleet has arrived"}. Of 10 arrivals ${who} reports ${hit}; of 10 days without arrival ${who} reports an arrival on ${alarm}.${copy}`;
    }),
  );
}
