/** back-titration: the composition of a sample from several titrations, with aliquots, excess reagent and a blank. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at } from "../../lists.ts";
import { minus, ratio, type Rational, textOf, times, over } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** Millimoles in the whole sample. */
  hydroxide: number;
  carbonate: number;
  /** Volumes in ml: flask, and aliquot that is titrated. */
  flask: number;
  aliquot: number;
  /** Concentrations in thousandths of a mole per litre. */
  acid: number;
  base: number;
  /** Excess of acid that is boiled with another aliquot, in ml; null: the mixed alkali is titrated directly. */
  excess: number | null;
  /** Tenths of a millilitre that a blank takes at each end point. */
  blank: number;
}

/** By level: aliquot, back titration, blank. */
const SIZES = [
  [false, false, false],
  [true, false, false],
  [true, false, true],
  [true, true, false],
  [true, true, true],
] as const;

export const backTitration = fieldRow<Given>({
  id: "back-titration",
  asks: "hydroxide and carbonate of a sample from two end points, aliquots, excess acid titrated back and a blank",
  draw,
  solve,
  values: () =>
    "hydroxide and carbonate are the amounts in millimoles in the whole sample, and share is the part of the amount of both that is carbonate, as exact fractions",
  wordings: [
    (one) => `${report(one)}\n\n${RULE} What did the sample contain?`,
    (one) => `${RULE}\n\nLaboratory report: ${report(one)}\n\nCalculate the composition.`,
    (one) => `Mixed alkali is analysed. ${report(one)}\n${RULE} Give the composition of the whole sample.`,
    (one) => `From a notebook. ${report(one)} Remember the chemistry: ${RULE} Evaluate the readings.`,
  ],
});

const RULE =
  "With phenolphthalein acid turns OH- into H2O and CO3 2- into HCO3-; with methyl orange CO3 2- is turned into CO2 completely. After boiling with excess acid no CO2 is left. Volumes and concentrations are exact.";

function draw(rng: Rng, level: Level): Given | null {
  const [hasAliquot, isBack, hasBlank] = at(SIZES, level - 1);
  const flask = rng.pick([100, 200, 250, 500]);
  return {
    hydroxide: between(rng, 20, 95) / 10,
    carbonate: between(rng, 10, 70) / 10,
    flask: hasAliquot ? flask : 100,
    aliquot: hasAliquot ? rng.pick([20, 25, 40, 50]) : 100,
    acid: between(rng, 81, 139),
    base: between(rng, 61, 119),
    excess: isBack ? 10 * between(rng, 10, 20) : null,
    blank: hasBlank ? between(rng, 1, 4) : 0,
  };
}

/** Volumes at the two end points in ml, blank included. */
function readings({ hydroxide, carbonate, flask, aliquot, acid, base, excess, blank }: Given): [Rational, Rational] {
  const part = ratio(aliquot, flask);
  const ml = (millimoles: Rational, concentration: number): Rational =>
    over(times(millimoles, part), ratio(concentration, 1000));
  const [oh, co] = [ratio(Math.round(10 * hydroxide), 10), ratio(Math.round(10 * carbonate), 10)];
  const extra = ratio(blank, 10);
  const sum = { n: oh.n * co.d + co.n * oh.d, d: oh.d * co.d };
  const all = { n: oh.n * co.d + 2n * co.n * oh.d, d: oh.d * co.d };
  const first = minus(ml(sum, acid), minus(ratio(0), extra));
  if (excess === null) return [first, minus(ml(all, acid), minus(ratio(0), extra))];
  const left = minus(times(ratio(excess), ratio(acid, 1000)), times(all, part));
  return [first, minus(over(left, ratio(base, 1000)), minus(ratio(0), extra))];
}

/** Hydroxide, carbonate and share from the readings. */
function evaluated(
  { flask, aliquot, acid, base, excess, blank }: Given,
  [first, second]: readonly [Rational, Rational],
  isHalved: boolean,
): string[] {
  const extra = ratio(blank, 10);
  const whole = ratio(flask, aliquot);
  const one = times(minus(first, extra), ratio(acid, 1000));
  const other = minus(second, extra);
  const two =
    excess === null
      ? times(other, ratio(acid, 1000))
      : minus(times(ratio(excess), ratio(acid, 1000)), times(other, ratio(base, 1000)));
  const carbonate = times(isHalved ? over(minus(two, one), ratio(2)) : minus(two, one), whole);
  const hydroxide = minus(times(one, whole), carbonate);
  return [textOf(hydroxide), textOf(carbonate), textOf(over(carbonate, times(one, whole)))];
}

function solve(given: Given): Solution | null {
  const volumes = readings(given);
  if (volumes.some(({ n, d }) => n <= 0n || Number(n) / Number(d) > 1000)) return null;
  const values = evaluated(given, volumes, false);
  const slips = [
    evaluated(given, volumes, true),
    evaluated({ ...given, blank: 0 }, volumes, false),
    evaluated({ ...given, flask: given.aliquot }, volumes, false),
  ].filter((slip) => slip.join() !== values.join());
  const extra = Number(given.aliquot !== given.flask) + 2 * Number(given.blank > 0) + 4 * Number(given.excess !== null);
  return {
    fields: values.map((value, index) => ({
      name: at(["hydroxide", "carbonate", "share"], index),
      kind: "number",
      value,
    })),
    slips,
    steps: 5 + extra,
  };
}

function report(given: Given): string {
  const { flask, aliquot, acid, base, excess, blank } = given;
  const [first, second] = readings(given).map(textOf);
  const taken =
    aliquot === flask
      ? "The whole sample was dissolved and titrated"
      : `The sample was dissolved to ${flask} ml, of which ${aliquot} ml were titrated`;
  const hcl = `${acid / 1000} mol/l HCl`;
  const back =
    excess === null
      ? `From the beginning to the end point of methyl orange it took ${second} ml in all.`
      : `Another equal portion was boiled with ${excess} ml of the same acid, and the rest of the acid took ${second} ml of ${base / 1000} mol/l NaOH.`;
  const blankText =
    blank === 0
      ? ""
      : ` Each of the volumes that were titrated contains ${blank / 10} ml that a blank without sample takes, too.`;
  return `${taken} with ${hcl}: the end point of phenolphthalein came after ${first} ml. ${back}${blankText}`;
}
