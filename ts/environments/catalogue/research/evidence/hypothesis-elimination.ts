/** hypothesis-elimination: hypotheses that survive the experiments so far, and the experiment that divides the survivors best. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { inWords, sentence } from "../documents.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";

/** A lamp lights when the condition on the switches holds. */
interface Hypothesis {
  /** At least so many of these switches are on. */
  least: number;
  of: number[];
  /** A switch that keeps the lamp dark when it is on; null for none. */
  veto: number | null;
}

interface Given {
  switches: number;
  hypotheses: Hypothesis[];
  /** Switches that were on, and whether the lamp was lit. */
  experiments: { on: number[]; isLit: boolean }[];
  proposals: number[][];
}

/** By level: switches, hypotheses, experiments, proposals, survivors at least. */
const SIZES = [
  [4, 8, 2, 4, 3],
  [5, 11, 3, 5, 3],
  [6, 15, 3, 6, 4],
  [7, 20, 4, 8, 4],
  [8, 28, 4, 10, 5],
] as const;

export const hypothesisElimination = fieldRow<Given>({
  id: "hypothesis-elimination",
  asks: "the hypotheses that experiments leave, and the proposed experiment whose worst outcome leaves the fewest",
  draw,
  solve,
  values: () =>
    "survivors is the list of the hypotheses that agree with all experiments, with commas between, best is the one experiment, and left is a number",
  wordings: [
    (one, rng) =>
      `${lamp(one)}\n\nHypotheses:\n${hypothesisLines(one, rng)}\n\nDone so far:\n${done(one)}\n\nProposed:\n${proposals(one)}\n\n${ASKED}`,
    (one, rng) =>
      `${ASKED}\n\n${lamp(one)}\nExperiments:\n${done(one)}\nPossible next ones:\n${proposals(one)}\nCandidates for the law:\n${hypothesisLines(one, rng)}`,
    (one, rng) =>
      `${lamp(one)} The laws under discussion are\n${hypothesisLines(one, rng)}\n\nResults:\n${done(one)}\n\nThere is money for one more experiment out of these:\n${proposals(one)}\n\n${ASKED}`,
    (one, rng) =>
      `Observations first:\n${done(one)}\n${lamp(one)} Exactly one of these laws is true:\n${hypothesisLines(one, rng)}\nThe next test could be one of\n${proposals(one)}\n${ASKED}`,
  ],
});

const ASKED =
  "Which hypotheses survive? Among the proposed experiments, for which one is the number of survivors that its less favourable outcome leaves the smallest (best), and how many are these (left)?";

function draw(rng: Rng, level: Level): Given | null {
  const [switches, count, experimentCount, proposalCount, least] = at(SIZES, level - 1);
  const hypothesis = (): Hypothesis => {
    const of = sample(range(switches), 2 + rng.integer(Math.min(3, switches - 2)), rng).toSorted((a, b) => a - b);
    const others = range(switches).filter((one) => !of.includes(one));
    const veto = others.length > 0 && rng.integer(2) === 0 ? rng.pick(others) : null;
    return { least: 1 + rng.integer(of.length), of, veto };
  };
  const hypotheses: Hypothesis[] = [];
  const tables = new Set<string>();
  for (let tries = 0; hypotheses.length < count && tries < 400; tries++) {
    const next = hypothesis();
    const table = range(2 ** switches)
      .map((code) =>
        Number(
          isLit(
            next,
            range(switches).filter((one) => (code & (1 << one)) !== 0),
          ),
        ),
      )
      .join("");
    if (tables.has(table)) continue;
    tables.add(table);
    hypotheses.push(next);
  }
  if (hypotheses.length < count) return null;
  const setting = (): number[] => range(switches).filter(() => rng.integer(2) === 0);
  const truth = rng.pick(hypotheses);
  const experiments = range(experimentCount).map(() => {
    const on = setting();
    return { on, isLit: isLit(truth, on) };
  });
  const given = { switches, hypotheses, experiments, proposals: shuffled(range(proposalCount).map(setting), rng) };
  const left = survivorsOf(given).length;
  return left < least ||
    left > count / 2 + 1 ||
    [...experiments.map(({ on }) => on), ...given.proposals].some((on) => on.length === 0)
    ? null
    : given;
}

function solve(given: Given): Solution | null {
  const { hypotheses, proposals: all, experiments, switches } = given;
  const survivors = survivorsOf(given);
  const worstOf = (some: readonly number[], on: readonly number[]): number => {
    const lit = some.filter((one) => isLit(at(hypotheses, one), on)).length;
    return Math.max(lit, some.length - lit);
  };
  const worst = all.map((on) => worstOf(survivors, on));
  const least = Math.min(...worst);
  if (worst.filter((value) => value === least).length > 1 || least === survivors.length) return null;
  const marks = marksOf("H", hypotheses.length);
  const tests = marksOf("E", all.length);
  const best = worst.indexOf(least);
  const early = all.map((on) => worstOf(range(hypotheses.length), on));
  const ignoring = survivorsOf({ ...given, hypotheses: hypotheses.map((one) => ({ ...one, veto: null })) });
  const named = (some: readonly number[]): string => marked(some.map((one) => at(marks, one)));
  const other = early.indexOf(Math.min(...early));
  return {
    fields: [
      { name: "survivors", kind: "set", value: named(survivors), options: marks },
      { name: "best", kind: "word", value: at(tests, best), options: tests },
      { name: "left", kind: "number", value: String(least) },
    ],
    slips: [
      [named(range(hypotheses.length)), at(tests, other), String(Math.min(...early))],
      ...(ignoring.length > 0 && named(ignoring) !== named(survivors)
        ? [[named(ignoring), at(tests, best), String(least)]]
        : []),
      [named(survivors), at(tests, best), String(survivors.length - least)].map((value, index) =>
        index === 2 && survivors.length === 2 * least ? String(least + 1) : value,
      ),
    ],
    steps: hypotheses.length * (experiments.length + all.length) * switches,
  };
}

function survivorsOf({ hypotheses, experiments }: Pick<Given, "hypotheses" | "experiments">): number[] {
  return range(hypotheses.length).filter((one) =>
    experiments.every(({ on, isLit: seen }) => isLit(at(hypotheses, one), on) === seen),
  );
}

function isLit({ least, of, veto }: Hypothesis, on: readonly number[]): boolean {
  return of.filter((one) => on.includes(one)).length >= least && (veto === null || !on.includes(veto));
}

function lamp({ switches }: Given): string {
  return `A box has a lamp and ${switches} switches, a to ${letter(switches - 1)}.`;
}

function letter(index: number): string {
  return "abcdefgh".charAt(index);
}

function hypothesisLines({ hypotheses: all }: Given, rng: Rng): string {
  return all
    .map(({ least, of, veto }, index) => {
      const names = inWords(of.map(letter));
      const core =
        least === of.length
          ? rng.pick([`all of ${names} are on`, `${names} are on together`])
          : `at least ${least} of ${names} ${least === 1 ? "is" : "are"} on`;
      const block =
        veto === null ? "" : rng.pick([` and ${letter(veto)} is off`, `, but not when ${letter(veto)} is on`]);
      return `H${index + 1}. ${sentence(`the lamp is lit exactly when ${core}${block}`)}`;
    })
    .join("\n");
}

function done({ experiments }: Given): string {
  return experiments
    .map(({ on, isLit: seen }) => `- ${inWords(on.map(letter))} on, the rest off: ${seen ? "lit" : "dark"}.`)
    .join("\n");
}

function proposals({ proposals: all }: Given): string {
  return all.map((on, index) => `E${index + 1}. ${inWords(on.map(letter))} on, the rest off`).join("\n");
}
