/** equilibrium-composition: amounts in one or two coupled gas equilibria, after the volume has changed or substance was added. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Reaction {
  /** For each substance: negative before the arrow. */
  change: number[];
  /** With concentrations in mol/L. */
  constant: number;
}

interface Given {
  substances: string[];
  reactions: Reaction[];
  /** In L and mol. */
  volume: number;
  amounts: number[];
  /** The second state: another volume, and what is added; null: none. */
  later: { volume: number; added: { substance: number; amount: number } | null } | null;
}

/** By level: which reactions, and whether a second state follows with another volume and with added substance. */
const KNOBS = [
  ["split", false, false],
  ["exchange", false, false],
  ["doubles", true, false],
  ["doubles", true, true],
  ["coupled", true, true],
] as const;
const SHAPES: Readonly<Record<(typeof KNOBS)[number][0], number[][]>> = {
  split: [[-1, 1, 1]],
  exchange: [[-1, -1, 1, 1]],
  doubles: [[-1, -2, 1, 1]],
  coupled: [
    [-1, -1, 1, 0, 0],
    [0, 0, -1, 1, 1],
  ],
};
const LETTERS = ["A", "B", "C", "D", "E"];
const HALVINGS = 60;

export const equilibriumComposition = quantityRow<Given>({
  id: "equilibrium-composition",
  asks: "amounts in gas equilibria, single or coupled, after a change of volume or an addition",
  draw,
  solve,
  isShared: true,
  asides: [
    "The vessel is made of steel and weighs 14 kg.",
    "The catalyst has a surface of 300 m^2 per gram.",
    "Equilibrium is reached within 20 minutes.",
    "The gas is faintly yellow.",
  ],
  wordings: [
    (one, aside) =>
      `In a vessel of ${one.volume} L there are at first ${startText(one)}. At constant temperature they come to equilibrium: ${equations(one)}. ${aside} ${change(one)} Find the amounts ${wanted(one)} at the end.`,
    (one, aside) =>
      `${equations(one)} (concentrations in mol/L). Start: ${startText(one)} in ${one.volume} L. ${change(one)} ${aside} Compute ${wanted(one)} in the final equilibrium.`,
    (one, aside) =>
      `Wanted: ${wanted(one)} in the last equilibrium. Gases at constant temperature, constants for concentrations in mol/L: ${equations(one)}. ${aside} Filled in: ${startText(one)}; volume ${one.volume} L. ${change(one)}`,
    (one, aside) =>
      `A gas mixture of ${startText(one)} is closed in ${one.volume} L, where ${equations(one)} holds for concentrations in mol/L. ${change(one)} How much of each is there when nothing changes any more (${wanted(one)})? ${aside}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [shape, hasLater, isAdded] = at(KNOBS, level - 1);
  const changes = SHAPES[shape];
  const substances = LETTERS.slice(0, changes[0]?.length ?? 0);
  const volume = decimal(rng, 1.2, 12, 1);
  return {
    substances,
    reactions: changes.map((one) => ({ change: one, constant: decimal(rng, 0.1, 6, 2) })),
    volume,
    amounts: substances.map((_, index) => (index < 2 || rng.integer(3) === 0 ? decimal(rng, 0.4, 5, 2) : 0)),
    later: hasLater
      ? {
          volume: Number((volume * rng.pick([0.25, 0.4, 2.5, 4])).toPrecision(2)),
          added: isAdded
            ? { substance: between(rng, 0, substances.length - 1), amount: decimal(rng, 0.5, 4, 2) }
            : null,
        }
      : null,
  };
}

function solve(given: Given): Solution | null {
  const { substances, reactions, amounts: start, later } = given;
  const first = balanced(reactions, start, given.volume);
  if (first === null) return null;
  const total = start.map((amount, index) => amount + (later?.added?.substance === index ? later.added.amount : 0));
  const right = later === null ? first : balanced(reactions, total, later.volume);
  if (right === null || right.some((amount) => amount < 0.02)) return null;
  // Where as many gases form as vanish, the volume does not matter.
  const hasVolume = reactions.some(({ change: numbers }) => sumOf(numbers) !== 0);
  const ignoring = hasVolume ? balanced(reactions, total, 1) : null;
  const inverse = balanced(
    reactions.map(({ change: one, constant }) => ({ change: one, constant: 1 / constant })),
    total,
    later?.volume ?? given.volume,
  );
  return {
    parts: right.map((value, index) => ({ name: `n${at(substances, index)}`, value, unit: "mol", relative: 0.015 })),
    slips: [
      ...[ignoring, inverse].filter((slip) => slip !== null),
      ...(later === null ? [] : [first]),
      total.map((amount) => amount + 0.01),
    ],
    steps:
      reactions.length ** 2 * substances.length * (later === null ? 1 : 2) +
      (later?.added === undefined || later?.added === null ? 0 : 2),
  };
}

/** Extents by nested bisection: each reaction's quotient grows with its own extent. Null where no state has only positive amounts. */
function balanced(reactions: readonly Reaction[], amounts: readonly number[], volume: number): number[] | null {
  const [outer, inner] = reactions;
  if (outer === undefined) return null;
  const after = (extent: number): number[] => amounts.map((amount, index) => amount + extent * at(outer.change, index));
  // The extent of the first reaction may use up what the second one gives back, so the inner one is solved first.
  const settled = (extent: number): number[] | null =>
    inner === undefined ? after(extent) : balanced([inner], after(extent), volume);
  const all =
    inner === undefined
      ? amounts
      : amounts.map((amount, index) => amount + (at(inner.change, index) < 0 ? sumOf(amounts) : 0));
  let low = -Math.min(
    ...range(amounts.length)
      .filter((index) => at(outer.change, index) > 0)
      .map((index) => at(all, index) / at(outer.change, index)),
  );
  let high = Math.min(
    ...range(amounts.length)
      .filter((index) => at(outer.change, index) < 0)
      .map((index) => at(amounts, index) / -at(outer.change, index)),
  );
  if (!(low < high)) return null;
  for (let turn = 0; turn < HALVINGS; turn++) {
    const middle = (low + high) / 2;
    const state = settled(middle);
    if (state === null || excess(outer, state, volume) < 0) low = middle;
    else high = middle;
  }
  const state = settled((low + high) / 2);
  return state === null || state.some((amount) => !(amount > 0)) ? null : state;
}

/** Logarithm of quotient over constant. */
function excess({ change: numbers, constant }: Reaction, amounts: readonly number[], volume: number): number {
  return numbers.reduce(
    (sum, number, index) => sum + (number === 0 ? 0 : number * Math.log(Math.max(at(amounts, index), 1e-300) / volume)),
    -Math.log(constant),
  );
}

function sumOf(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function equations({ substances, reactions }: Given): string {
  return reactions
    .map(({ change: numbers, constant }) => {
      const side = (sign: number): string =>
        range(numbers.length)
          .filter((index) => at(numbers, index) * sign > 0)
          .map(
            (index) =>
              `${Math.abs(at(numbers, index)) === 1 ? "" : `${Math.abs(at(numbers, index))} `}${at(substances, index)}`,
          )
          .join(" + ");
      return `${side(-1)} ⇌ ${side(1)} with Kc = ${constant}`;
    })
    .join(" and ");
}

function startText({ substances, amounts: all }: Given): string {
  return substances
    .map((name, index) => ({ name, amount: at(all, index) }))
    .filter(({ amount }) => amount > 0)
    .map(({ name, amount }) => `${amount} mol of ${name}`)
    .join(", ");
}

function change({ substances, later }: Given): string {
  if (later === null) return "";
  const added =
    later.added === null ? "" : ` and ${later.added.amount} mol of ${at(substances, later.added.substance)} are added`;
  return `Afterwards the volume is changed to ${later.volume} L${added}, and a new equilibrium forms.`;
}

function wanted({ substances }: Given): string {
  return substances.map((name) => `n${name}`).join(", ");
}
