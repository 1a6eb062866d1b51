/** Programs as data, what they give in their own language, and what a careless port of one hazard gives. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import type { ProgramLanguage } from "../../../../verify/index.ts";
import { range } from "../../lists.ts";
import { FROM_C } from "./hazards/from-c.ts";
import { FROM_JAVASCRIPT } from "./hazards/from-javascript.ts";
import { FROM_PYTHON } from "./hazards/from-python.ts";
import type { Hazard, Value } from "./hazards/hazard.ts";
import { TEXT_HAZARDS } from "./hazards/texts.ts";

/** `hazard(mul * value + add)`; a text has neither. */
export interface Step {
  readonly hazard: string;
  /** Digits, because an instance is JSON. */
  readonly constants: readonly string[];
  readonly mul: number;
  readonly add: number;
}

export interface Term {
  readonly isAdded: boolean;
  readonly steps: readonly Step[];
}

export type Unit =
  /** A sum over a list of whole numbers; a term that takes the list itself is added once. */
  | { readonly is: "numbers"; readonly start: number; readonly terms: readonly Term[] }
  /** Two numbers that are assigned at once, for each number of a list. */
  | { readonly is: "pair"; readonly start: readonly [number, number]; readonly mul: number }
  | { readonly is: "text"; readonly steps: readonly Step[] };

export const SIMULTANEOUS = "simultaneous-assignment";
/** Beyond it numbers of JavaScript and C may differ where no hazard is named. */
const MOST = 2n ** 52n;

export const HAZARDS: readonly Hazard[] = [...FROM_PYTHON, ...FROM_JAVASCRIPT, ...FROM_C, ...TEXT_HAZARDS];
const BY_NAME = new Map(HAZARDS.map((one) => [`${one.from} ${one.id}`, one]));

export interface Direction {
  readonly from: ProgramLanguage;
  readonly to: ProgramLanguage;
}

export function hazardOf(from: ProgramLanguage, id: string): Hazard {
  const found = BY_NAME.get(`${from} ${id}`);
  if (found === undefined) throw new RangeError(`${from} has no hazard ${id}`);
  return found;
}

export function hazardsOf(unit: Unit): string[] {
  if (unit.is === "pair") return [SIMULTANEOUS];
  const steps = unit.is === "text" ? unit.steps : unit.terms.flatMap((term) => term.steps);
  return [...new Set(steps.map(({ hazard }) => hazard))];
}

/** Draws units whose hazards exist in the target; a hazard comes twice only after all others. */
export function unitDrawer({ from, to }: Direction, most: number, rng: Rng): () => Unit {
  const open = HAZARDS.filter((one) => one.from === from && one.ports[to] !== undefined);
  const numbers = open.filter(({ takes }) => takes !== "text");
  const texts = open.filter(({ takes }) => takes === "text");
  let [freshNumbers, freshTexts] = [shuffled(numbers, rng), shuffled(texts, rng)];
  return () => {
    const uses = between(rng, Math.max(1, most - 1), most);
    if (texts.length > 0 && rng.integer(5) < 2) {
      if (freshTexts.length < uses) freshTexts = shuffled(texts, rng);
      return textUnit(freshTexts.splice(0, uses), rng);
    }
    if (from === "python" && rng.integer(8) === 0)
      return { is: "pair", start: [between(rng, 0, 5), between(rng, 1, 9)], mul: between(rng, 2, 5) };
    if (freshNumbers.length < uses) freshNumbers = shuffled(numbers, rng);
    return numberUnit(freshNumbers.splice(0, uses), rng);
  };
}

function stepOf({ id, draw }: Hazard, rng: Rng): Step {
  const isPlain = rng.integer(3) === 0;
  return {
    hazard: id,
    constants: draw(rng).map(String),
    mul: isPlain ? 1 : between(rng, 2, 5),
    add: isPlain ? 0 : between(rng, -30, 30),
  };
}

/** Texts come first, and one number at the end. */
function textUnit(hazards: readonly Hazard[], rng: Rng): Unit {
  const toNumber = hazards.filter(({ gives }) => gives === "int").slice(0, 1);
  const chosen = [...hazards.filter(({ gives }) => gives === "text"), ...toNumber];
  return { is: "text", steps: chosen.map((one) => ({ ...stepOf(one, rng), mul: 1, add: 0 })) };
}

function numberUnit(hazards: readonly Hazard[], rng: Rng): Unit {
  const terms: Term[] = [];
  const rest = [...hazards];
  while (rest.length > 0) {
    const isNested = rest.length > 1 && rest[0]?.takes === "int" && rest[1]?.takes === "int" && rng.integer(3) === 0;
    const steps = rest.splice(0, isNested ? 2 : 1).map((one) => stepOf(one, rng));
    terms.push({ isAdded: rng.integer(3) > 0, steps });
  }
  return { is: "numbers", start: between(rng, 0, 40), terms };
}

// ---- inputs ----

const WORDS = ["a tin", "Era", "rain", "SON", "x", "oats", "I see", "nine", "-", " ", "t-r", "e", "ia", "no-one"];
const ASTRAL = ["😀", "🎈", "𝒶"];

/** An input line without the number of its unit. */
export function drawInput(unit: Unit, from: ProgramLanguage, rng: Rng): string {
  if (unit.is !== "text") {
    const isWide = unit.is === "numbers" && hazardsOf(unit).some((id) => hazardOf(from, id).wide === true);
    return range(between(rng, 3, 5))
      .map(() => drawNumber(isWide, rng))
      .join(" ");
  }
  const isPlain = hazardsOf(unit).some((id) => hazardOf(from, id).plain === true);
  const parts = range(between(rng, 2, 5)).map(() => rng.pick(rng.integer(5) === 0 && !isPlain ? ASTRAL : WORDS));
  const head = rng.integer(4) === 0 ? `${rng.integer(2) === 0 ? "+" : ""}${between(rng, 1, 999)}` : "";
  return `${head}${parts.join(rng.pick(["", "-", " ", "  "]))}${rng.pick(["", " ", "!", "-"])}.`;
}

function drawNumber(isWide: boolean, rng: Rng): number {
  const size = rng.pick(isWide ? [20, 5_000, 10 ** 7, 10 ** 9, 10 ** 9] : [8, 30, 90, 5_000]);
  return between(rng, -size, size) * (isWide && rng.integer(2) === 0 ? between(rng, 1, 90) : 1);
}

// ---- values ----

/** What a unit prints for an input. `careless`: a hazard whose meaning in the target is taken. Null: numbers grow too large. */
export function valueOf(
  unit: Unit,
  input: string,
  { from, to }: Direction,
  careless: string | null = null,
): string | null {
  const apply = (step: Step, value: Value, list: readonly bigint[]): Value => {
    const hazard = hazardOf(from, step.hazard);
    const constants = step.constants.map(BigInt);
    const port = step.hazard === careless ? hazard.ports[to] : undefined;
    return (port?.slip ?? hazard.value)(value, constants, list);
  };
  const isRight = careless === null;
  if (unit.is === "text") {
    const value = unit.steps.reduce((so: Value, step) => apply(step, so, []), input);
    return isRight && /[\ud800-\udfff]/u.test(String(value)) ? null : String(value);
  }
  const list = input.split(" ").map(BigInt);
  if (unit.is === "pair") return String(pairOf(unit, list, careless === SIMULTANEOUS));
  let total = BigInt(unit.start);
  for (const { isAdded, steps } of unit.terms) {
    const takesList = hazardOf(from, steps[0]?.hazard ?? "").takes === "list";
    for (const item of takesList ? list.slice(0, 1) : list) {
      let value = item;
      for (const step of steps) {
        const inner = BigInt(step.mul) * value + BigInt(step.add);
        value = BigInt(apply(step, inner, list));
        if (isRight && (isLarge(inner) || isLarge(value))) return null;
      }
      total += isAdded ? value : -value;
    }
  }
  return isRight && isLarge(total) ? null : String(total);
}

function isLarge(value: bigint): boolean {
  return value > MOST || value < -MOST;
}

function pairOf(
  { start, mul }: { start: readonly [number, number]; mul: number },
  list: readonly bigint[],
  inTurn: boolean,
): bigint {
  let [p, q] = [BigInt(start[0]), BigInt(start[1])];
  for (const item of list) {
    const next = q + item;
    q = (inTurn ? next : p) - q;
    p = next;
  }
  return BigInt(mul) * p + q;
}
