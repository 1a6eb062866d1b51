/** trait-class-odds: the shares of phenotypes among offspring when genes are linked, hide each other and kill some genotypes. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { over, plus, ratio, type Rational, textOf, times, ZERO } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** `parents[p][h][g]`: whether the copy h of gene g is the dominant allele. */
  parents: boolean[][][];
  /** Percent of gametes that recombine between the first two genes; 50: not linked. */
  crossing: number;
  /** The first rule that fits gives the colour. A number is a gene: dominant form shown (1) or not (0). */
  rules: { needs: [gene: number, isShown: boolean][]; colour: string }[];
  /** A gene that kills those with two recessive copies; null: none. */
  deadly: number | null;
}

const COLOURS = ["white", "red", "black", "brown", "yellow"];
/** By level: genes, rules, linked, deadly. */
const SIZES = [
  [2, 2, false, false],
  [2, 2, true, false],
  [3, 3, true, false],
  [3, 3, true, true],
  [4, 4, true, true],
] as const;

export const traitClassOdds = fieldRow<Given>({
  id: "trait-class-odds",
  asks: "shares of colours among offspring with linked genes, genes that hide each other and a deadly genotype",
  draw,
  solve,
  values: ({ rules }) =>
    `each value is the share of the colour among the offspring that live, as an exact fraction (0 if there is none); the colours are ${[...rules.map(({ colour }) => colour), "grey"].join(", ")}`,
  wordings: [
    (one) => `${colourList(one)}\n\n${parentText(one)} ${mechanism(one)} What colours do the offspring have?`,
    (one) => `${parentText(one)}\n\nInheritance: ${mechanism(one)}\n${colourList(one)}\n\nCompute the expected shares.`,
    (one) =>
      `A breeder crosses two animals. ${mechanism(one)}\n${colourList(one)}\n${parentText(one)} Which part of the litter has which colour?`,
    (one) =>
      `Genetics of coat colour. ${parentText(one)}\n${colourList(one)}\n${mechanism(one)} State the probability of each colour.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [genes, ruleCount, isLinked, isDeadly] = at(SIZES, level - 1);
  // Most genes are mixed in both parents, so that there are many classes.
  const other = rng.integer(2 * genes);
  const parents = range(2).map(() => {
    const first = range(genes).map(() => rng.integer(2) === 0);
    return [first, first.map((allele, gene) => (gene === other ? allele : !allele))];
  });
  const colours = sample(COLOURS, ruleCount, rng);
  const rules = colours.map((colour) => ({
    needs: sample(range(genes), between(rng, 1, 2), rng)
      .toSorted((a, b) => a - b)
      .map((gene): [number, boolean] => [gene, rng.integer(2) === 0]),
    colour,
  }));
  const mixed = range(genes).filter((gene) =>
    parents.every((parent) => at(at(parent, 0), gene) !== at(at(parent, 1), gene)),
  );
  const [deadly = null] = isDeadly ? mixed : [];
  if (mixed.length < genes - 1 || (isDeadly && deadly === null)) return null;
  return { parents, crossing: isLinked ? between(rng, 2, 22) * 2 : 50, rules, deadly };
}

/** Gametes with their probabilities. */
function gametes(parent: readonly (readonly boolean[])[], crossing: number): { alleles: boolean[]; odds: Rational }[] {
  const genes = at(parent, 0).length;
  return range(2 ** genes).map((picks) => {
    const alleles = range(genes).map((gene) => at(at(parent, (picks >> gene) & 1), gene));
    const isCrossed = (picks & 1) !== ((picks >> 1) & 1);
    const odds = times(ratio(isCrossed ? crossing : 100 - crossing, 200), ratio(1, 2 ** (genes - 2)));
    return { alleles, odds };
  });
}

function sharesOf({ parents, crossing, rules, deadly }: Given): Rational[] | null {
  const shares = range(rules.length + 1).map(() => ZERO);
  const [first = [], second = []] = parents.map((parent) => gametes(parent, crossing));
  for (const egg of first)
    for (const sperm of second) {
      if (deadly !== null && !at(egg.alleles, deadly) && !at(sperm.alleles, deadly)) continue;
      const isShown = egg.alleles.map((allele, gene) => allele || at(sperm.alleles, gene));
      const rule = rules.findIndex(({ needs }) => needs.every(([gene, wanted]) => at(isShown, gene) === wanted));
      const place = rule < 0 ? rules.length : rule;
      shares[place] = plus(at(shares, place), times(egg.odds, sperm.odds));
    }
  const alive = shares.reduce((sum, one) => plus(sum, one), ZERO);
  return alive.n === 0n ? null : shares.map((share) => over(share, alive));
}

function solve(given: Given): Solution | null {
  const right = sharesOf(given);
  if (right === null || right.filter(({ n }) => n > 0n).length < 3) return null;
  const texts = right.map(textOf);
  const others = [
    { ...given, crossing: given.crossing === 50 ? 30 : 50 },
    { ...given, rules: given.rules.toReversed() },
  ];
  const slips = others
    .map((one) => sharesOf(one)?.map(textOf) ?? [])
    .filter((slip) => slip.length > 0 && slip.join() !== texts.join());
  const genes = at(at(given.parents, 0), 0).length;
  if (slips.length === 0 || (given.crossing !== 50 && sharesOf(at(others, 0))?.map(textOf).join() === texts.join()))
    return null;
  return {
    fields: texts.map((value, index) => ({ name: given.rules[index]?.colour ?? "grey", kind: "number", value })),
    slips,
    steps: 4 ** genes * given.rules.length + Number(given.crossing !== 50) * 8 + Number(given.deadly !== null) * 40,
  };
}

function colourList({ rules }: Given): string {
  const lines = rules.map(({ needs, colour }) => {
    const parts = needs.map(([gene, isShown]) =>
      isShown ? `at least one dominant allele ${"ABDE"[gene]}` : `only the recessive alleles ${"abde"[gene]}`,
    );
    return `- ${parts.join(" and ")}: ${colour}`;
  });
  return `The first line that fits decides on the colour:\n${lines.join("\n")}\n- in all other cases: grey`;
}

function parentText({ parents: list }: Given): string {
  const texts = list.map((parent) =>
    parent.map((copy) => copy.map((allele, gene) => (allele ? "ABDE" : "abde")[gene]).join("")).join(" / "),
  );
  return `The parents have the chromosome copies ${texts.join(" and ")} (one copy from each grandparent).`;
}

function mechanism({ crossing, deadly }: Given): string {
  const link =
    crossing === 50
      ? "All genes are inherited independently."
      : `The genes A and B lie on one chromosome, and ${crossing} % of the gametes are recombinant between them; other genes are independent.`;
  const kill = deadly === null ? "" : ` Offspring with two copies of ${"abde"[deadly]} die before birth.`;
  return `${link}${kill}`;
}
