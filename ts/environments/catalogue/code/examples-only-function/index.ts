/** examples-only-function: a list function from examples alone, which provably determine it among all chains of the shown steps. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Family, Level, ProgramRow } from "../../row.ts";
import { functionRow } from "../function-row.ts";
import { drawList, type List, NAMES, ran, STEPS } from "./steps.ts";
import { proofOf } from "./unambiguous.ts";

interface Spec {
  readonly chain: readonly string[];
  readonly vocabulary: readonly string[];
  /** Inputs of the examples that stand in the rules; the row shows one more of each class. */
  readonly shown: readonly List[];
  readonly classes: Readonly<Record<string, readonly List[]>>;
  readonly work: number;
}

/** By level: steps of the chain, steps of the vocabulary, examples. */
const SIZES = [
  [1, 16, 4],
  [2, 14, 5],
  [2, 35, 7],
  [3, 20, 8],
  [3, 35, 10],
] as const;
/** Of each class, with the one that is shown. */
const HIDDEN = 7;

const row: ProgramRow = functionRow<Spec>({
  id: "examples-only-function",
  asks: "a list function from examples alone, which provably determine it among all chains of given steps",
  name: "f",
  parameters: ["x"],
  make,
  effort: ({ work }) => work,
  stories: [
    () => "The source of a function is lost; some of its results are known.",
    () => "Find out what f does from what it returns.",
    () => "A spreadsheet fills in a column as its user once showed. Find the rule behind the examples.",
    () => "The log of a pipeline has inputs and outputs of a step whose description is missing.",
  ],
  rules: ({ chain, vocabulary, shown }) =>
    [
      `f is a chain of at most ${chain.length} step${chain.length === 1 ? "" : "s"}; each replaces the list x by one of these values, in Python:`,
      vocabulary.map((name) => `    ${STEPS[name]?.python ?? ""}`).join("\n"),
      `A step may occur twice. Chains of this kind that agree with all examples agree on all inputs that are tested. More results:`,
      shown.map((list) => `    f([${list.join(", ")}]) == [${(ran(chain, list) ?? []).join(", ")}]`).join("\n"),
    ].join("\n\n"),
  types: () => "The argument is a list of whole numbers, which may be empty, and so is the result.",
  calls: ({ classes }) =>
    Object.fromEntries(Object.entries(classes).map(([name, lists]) => [name, lists.map((list) => [list])])),
  solve: ({ chain }, [list]) => ran(chain, list as List),
  python: ({ chain }) =>
    ["def f(x):", ...chain.map((name) => `    x = ${STEPS[name]?.python ?? ""}`), "    return x"].join("\n"),
  slips: (spec) => [
    ...spec.chain.flatMap((_, place) =>
      sampleOf(spec.vocabulary, place).map((name) => ({
        ...spec,
        chain: spec.chain.map((one, other) => (other === place ? name : one)),
      })),
    ),
    ...spec.chain.map((_, place) => ({ ...spec, chain: spec.chain.filter((__, other) => other !== place) })),
    { ...spec, chain: spec.chain.toReversed() },
  ],
});

export const examplesOnlyFunction: Family<ProgramRow> = { id: "examples-only-function", rows: [row] };

/** Some steps, others for each place. */
function sampleOf(vocabulary: readonly string[], place: number): string[] {
  return vocabulary.filter((_, index) => index % 3 === place % 3);
}

function make(rng: Rng, level: Level): Spec | null {
  const [steps, size, examples] = at(SIZES, level - 1);
  const vocabulary = NAMES.filter(chosenOf(rng, size));
  const chain = range(steps).map(() => rng.pick(vocabulary));
  const classes = {
    short: some(rng, 2, 4),
    medium: some(rng, 4, 7),
    long: some(rng, 7, 10),
    edge: [[], [between(rng, -9, 20)], ...some(rng, 1, 3).slice(2)],
  };
  const shown = range(examples - 3).map(() => drawList(rng, 3, 7));
  const [first, second, third, edge] = Object.values(classes);
  const given = [...shown, ...[first, second, third].flatMap((lists = []) => lists.slice(0, 1))];
  const hidden = [...[first, second, third].flatMap((lists = []) => lists.slice(1)), ...(edge ?? [])];
  const proof = proofOf({ target: chain, vocabulary, shown: given, hidden });
  // A shorter chain that does the same would be the real one.
  if (proof === null || proof.shortest < steps) return null;
  return { chain, vocabulary: shuffled(vocabulary, rng), shown, classes, work: proof.work };
}

function chosenOf(rng: Rng, size: number): (name: string) => boolean {
  const chosen = new Set(sample(NAMES, size, rng));
  return (name) => chosen.has(name);
}

function some(rng: Rng, least: number, most: number): List[] {
  return range(HIDDEN).map(() => drawList(rng, least, most));
}
