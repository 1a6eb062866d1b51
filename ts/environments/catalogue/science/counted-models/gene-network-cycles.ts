/** gene-network-cycles: where a network of genes that switch each other ends up from a start, and how long that takes. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** For each gene: regulators with their sign, and how many of them must be satisfied. */
  genes: { by: { gene: number; isOn: boolean }[]; least: number }[];
  start: boolean[];
  /** A gene that is knocked out in the second run. */
  lost: number;
}

/** By level: genes, regulators, least sum of the steps of both runs. */
const SIZES = [
  [4, 2, 5],
  [5, 2, 7],
  [6, 2, 9],
  [8, 3, 12],
  [10, 3, 18],
] as const;

export const geneNetworkCycles = fieldRow<Given>({
  id: "gene-network-cycles",
  asks: "the transient and the cycle of a network of genes that switch each other, also with one gene knocked out",
  draw,
  solve,
  values: () =>
    "wait is the number of steps before the first state that comes back later, period the number of steps after which it comes back, common lists the genes that are on in all states of the cycle or says none; wait2, period2 and common2 are the same for the mutant",
  wordings: [
    (one) => `${rules(one)}\n\n${startText(one)} ${RULE}`,
    (one) =>
      `${RULE} ${startText(one)}\n\nRegulation:\n${rules(one)}\n\nFollow both runs until they come back to a state.`,
    (one) =>
      `Expression in a cell is modelled by switches.\n${rules(one)}\n${RULE}\n${startText(one)} Describe the attractors that are reached.`,
    (one) =>
      `${startText(one)} Each gene of this small network is on or off and obeys\n${rules(one)}\n${RULE} Find transients and cycles.`,
  ],
});

const RULE = "In each step all genes change at the same time, by the state before the step.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, regulators] = at(SIZES, level - 1);
  const genes = range(count).map(() => {
    const by = sample(range(count), regulators, rng).map((gene) => ({ gene, isOn: rng.integer(2) === 0 }));
    return { by, least: 1 + rng.integer(regulators) };
  });
  const start = range(count).map(() => rng.integer(2) === 0);
  return { genes, start, lost: rng.integer(count) };
}

interface Fate {
  readonly wait: number;
  readonly period: number;
  readonly common: string;
}

function fateOf({ genes, start }: Given, lost: number | null, isAtOnce: boolean): Fate {
  let state = start.map((value, gene) => value && gene !== lost);
  const seen = new Map<string, number>();
  const states: boolean[][] = [];
  for (let key = state.join(); !seen.has(key); key = state.join()) {
    seen.set(key, states.length);
    states.push(state);
    const next = [...state];
    for (const [gene, { by, least }] of genes.entries()) {
      const from = isAtOnce ? state : next;
      const satisfied = by.filter((one) => at(from, one.gene) === one.isOn).length;
      next[gene] = satisfied >= least && gene !== lost;
    }
    state = next;
  }
  const wait = seen.get(state.join()) ?? 0;
  const cycle = states.slice(wait);
  const common = range(genes.length).filter((gene) => cycle.every((one) => at(one, gene)));
  return {
    wait,
    period: cycle.length,
    common: common.length === 0 ? "none" : marked(common.map((gene) => `G${gene + 1}`)),
  };
}

function solve(given: Given): Solution | null {
  const { genes, lost } = given;
  const least = SIZES.find(([count]) => count === genes.length)?.[2] ?? 0;
  const fates = (isAtOnce: boolean): Fate[] => [fateOf(given, null, isAtOnce), fateOf(given, lost, isAtOnce)];
  const right = fates(true);
  const steps = right.reduce((sum, { wait, period }) => sum + wait + period, 0);
  if (steps < least || right.some(({ wait, period }) => wait === 0 || period + wait < 3)) return null;
  const texts = (list: readonly Fate[]): string[] =>
    list.flatMap(({ wait, period, common }) => [String(wait), String(period), common]);
  const names = ["wait", "period", "common", "wait2", "period2", "common2"];
  const [wild, mutant] = right;
  const options = [...range(genes.length).map((gene) => `G${gene + 1}`), "none"];
  const values = texts(right);
  const one = texts(fates(false));
  const same = texts([wild, wild].filter((fate) => fate !== undefined));
  const slips = [one, same].filter((slip) => slip.join() !== values.join());
  if (mutant === undefined || slips.length === 0) return null;
  return {
    fields: names.map((name, index) =>
      name.startsWith("common")
        ? { name, kind: "set", value: at(values, index), options }
        : { name, kind: "number", value: at(values, index) },
    ),
    slips,
    steps: steps * genes.length,
  };
}

function rules({ genes }: Given): string {
  return genes
    .map(({ by, least }, gene) => {
      const list = by.map((one) => `G${one.gene + 1} is ${one.isOn ? "on" : "off"}`).join("; ");
      return `G${gene + 1} is on after a step when at least ${least} of these hold: ${list}.`;
    })
    .join("\n");
}

function startText({ start, lost }: Given): string {
  const on = start.flatMap((value, gene) => (value ? [`G${gene + 1}`] : []));
  return `At first ${on.length === 0 ? "no gene is" : `exactly these are`} on${on.length === 0 ? "" : `: ${on.join(", ")}`}. The mutant starts in the same way, but its gene G${lost + 1} is always off.`;
}
