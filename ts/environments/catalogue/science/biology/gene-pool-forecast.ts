/** gene-pool-forecast: an allele's frequency after generations of selection, mutation and migration, and the heterozygotes that inbreeding leaves. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Given {
  /** Frequency of allele A before the first generation. */
  start: number;
  generations: number;
  /** Fitness of AA, Aa, aa. */
  fitness: [number, number, number];
  /** Chance that an A turns into an a, and the reverse, in a generation; null: none. */
  mutation: [number, number] | null;
  /** Share of immigrants in a generation, and the frequency of A among them; null: none. */
  migration: [number, number] | null;
  /** Inbreeding coefficient at the end. */
  inbreeding: number | null;
}

/** By level: generations, mutation, migration, inbreeding. */
const KNOBS = [
  [1, false, false, false],
  [2, false, false, false],
  [2, false, true, false],
  [3, true, true, false],
  [4, true, true, true],
] as const;

export const genePoolForecast = quantityRow<Given>({
  id: "gene-pool-forecast",
  asks: "allele and genotype frequencies after generations of selection, mutation, migration and inbreeding",
  draw,
  solve,
  asides: [
    "The beetles were counted on 14 fields.",
    "A generation takes 40 days.",
    "The species has 22 chromosomes.",
    "About 3000 larvae hatch each year.",
  ],
  wordings: [
    (one, aside) =>
      `In a large population of beetles the allele A has the frequency ${one.start} among the gametes. ${aside} Each generation goes as follows: gametes unite at random; ${steps(one)} Follow ${one.generations} such ${plural(one)}. Find p, the frequency of A afterwards, and H, ${heterozygotes(one)}.`,
    (one, aside) =>
      `Forecast a gene pool with two alleles, A and a. Number of generations: ${one.generations}. Start: frequency of A is ${one.start}. ${aside} In a generation zygotes form by random mating, then ${steps(one)} Wanted: p (A at the end) and H (${heterozygotes(one)}).`,
    (one, aside) =>
      `p is the frequency of allele A after ${one.generations} ${plural(one)}, H is ${heterozygotes(one)}. ${aside} It starts at ${one.start}. Rules for one generation of this endless, randomly mating population: ${steps(one)}`,
    (one, aside) =>
      `Biologists model a locus with alleles A (now ${one.start}) and a. Their model of a generation: Hardy-Weinberg zygotes; ${steps(one)} ${aside} After ${one.generations} ${plural(one)}, what are p, the share of A, and H, ${heterozygotes(one)}?`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [generations, mutates, migrates, inbred] = at(KNOBS, level - 1);
  const [heavy, light] = [decimal(rng, 0.2, 0.6, 2), decimal(rng, 0.65, 0.9, 2)];
  const fitness = rng.pick([
    [1, light, heavy],
    [heavy, light, 1],
    [light, 1, heavy],
    [1, heavy, light],
  ] satisfies Given["fitness"][]);
  return {
    start: decimal(rng, 0.15, 0.85, 2),
    generations,
    fitness,
    mutation: mutates ? [decimal(rng, 0.02, 0.1, 2), decimal(rng, 0.01, 0.05, 2)] : null,
    migration: migrates ? [decimal(rng, 0.05, 0.3, 2), decimal(rng, 0.05, 0.95, 2)] : null,
    inbreeding: inbred ? between(rng, 2, 6) / 10 : null,
  };
}

function solve(given: Given): Solution | null {
  const { start, generations, mutation, migration, inbreeding } = given;
  const right = forecast(given);
  const dominant = { ...given, fitness: [given.fitness[0], given.fitness[0], given.fitness[2]] as Given["fitness"] };
  const forces = 1 + Number(mutation !== null) + Number(migration !== null);
  const slips = [
    [start, 2 * start * (1 - start)],
    forecast(dominant),
    [right[0] ?? 0, right[0] ?? 0],
    ...(migration === null ? [] : [forecast({ ...given, migration: null })]),
    ...(mutation === null ? [] : [forecast({ ...given, mutation: null })]),
    ...(inbreeding === null ? [] : [forecast({ ...given, inbreeding: null })]),
    ...(generations === 1 ? [] : [forecast({ ...given, generations: 1 })]),
  ];
  const [p = 0, H = 0] = right;
  return p < 0.03 || p > 0.97
    ? null
    : {
        parts: [
          { name: "p", value: p, unit: "" },
          { name: "H", value: H, unit: "" },
        ],
        slips,
        steps: generations * forces + 1 + Number(inbreeding !== null),
      };
}

function forecast({ start, generations, fitness, mutation, migration, inbreeding }: Given): number[] {
  let p = start;
  const [wAA, wAa, waa] = fitness;
  const [u, v] = mutation ?? [0, 0];
  const [m, foreign] = migration ?? [0, 0];
  for (let generation = 0; generation < generations; generation++) {
    const q = 1 - p;
    p = (p * p * wAA + p * q * wAa) / (p * p * wAA + 2 * p * q * wAa + q * q * waa);
    p = p * (1 - u) + (1 - p) * v;
    p = p * (1 - m) + m * foreign;
  }
  return [p, 2 * p * (1 - p) * (1 - (inbreeding ?? 0))];
}

function steps({ fitness: [wAA, wAa, waa], mutation, migration }: Given): string {
  const selected = `zygotes survive in proportion to the fitness ${wAA} (AA), ${wAa} (Aa) and ${waa} (aa)`;
  const mutated =
    mutation === null
      ? ""
      : `; in the gametes of the survivors ${mutation[0]} of the A turn into a, and at the same time ${mutation[1]} of the a into A`;
  const mixed =
    migration === null
      ? ""
      : `; last, gametes from elsewhere come in, until they make up ${migration[0]} of all, and A has the frequency ${migration[1]} among the newcomers`;
  return `${selected}${mutated}${mixed}.`;
}

function heterozygotes({ inbreeding }: Given): string {
  return inbreeding === null
    ? "the share of heterozygotes among the zygotes that these gametes form at random"
    : `the share of heterozygotes among the zygotes that these gametes form when the inbreeding coefficient is ${inbreeding}`;
}

function plural({ generations }: Given): string {
  return generations === 1 ? "generation" : "generations";
}
