/** coder-agreement: the chance-corrected agreement of several coders with gaps (Krippendorff's alpha), and the coder who lowers it most. */
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { compare, minus, over, plus, ratio, type Rational, textOf, ZERO } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** `codes[c][u]`: code that a coder gave a unit; null: none. */
  codes: (number | null)[][];
}

const CODES = ["praise", "blame", "neutral", "other"];
/** By level: coders, units, codes, one in how many is missing (0: none). */
const SIZES = [
  [3, 5, 2, 0],
  [3, 7, 3, 6],
  [4, 9, 3, 6],
  [5, 12, 4, 5],
  [6, 16, 4, 4],
] as const;

export const coderAgreement = fieldRow<Given>({
  id: "coder-agreement",
  asks: "the chance-corrected agreement of coders with missing codes, and whose omission raises it most",
  draw,
  solve,
  values: () =>
    "alpha is the agreement as an exact fraction, and odd is the coder without whom alpha is largest, such as C2",
  wordings: [
    (one) => `${table(one)}\n\n${RULE} How well do the coders agree?`,
    (one) => `${RULE}\n\nCodes by unit:\n${table(one)}\n\nCompute the reliability.`,
    (one) =>
      `Before texts are analysed, their coding is tested.\n${table(one)}\n${RULE} Report the coefficient and the least reliable coder.`,
    (one) => `Find Krippendorff's alpha for nominal data. ${RULE}\n${table(one)}`,
  ],
});

const RULE =
  "Units with fewer than two codes are left out. Let n be the number of codes in the other units. The observed disagreement is 1/n times the sum, over units, of the number of ordered pairs of unequal codes in the unit divided by (codes in the unit - 1). The expected disagreement is the number of ordered pairs of unequal codes among all n codes, divided by n (n - 1). Alpha is 1 - observed / expected.";

function draw(rng: Rng, level: Level): Given | null {
  const [coders, units, kinds, gap] = at(SIZES, level - 1);
  const truth = range(units).map(() => rng.integer(kinds));
  const codes = range(coders).map(() =>
    truth.map((code) => {
      if (gap > 0 && rng.integer(gap) === 0) return null;
      return rng.integer(10) < 7 ? code : rng.integer(kinds);
    }),
  );
  return { codes };
}

function alphaOf(codes: readonly (readonly (number | null)[])[], isSimple = false): Rational | null {
  const units = range(codes[0]?.length ?? 0)
    .map((unit) => codes.map((own) => own[unit] ?? null).filter((code) => code !== null))
    .filter((own) => own.length > 1);
  const unequal = (list: readonly number[]): number =>
    list.reduce((sum, code) => sum + list.filter((other) => other !== code).length, 0);
  const all = units.flat();
  const n = all.length;
  const observed = units.reduce((sum, own) => plus(sum, ratio(unequal(own), (own.length - 1) * n)), ZERO);
  if (isSimple) return minus(ratio(1), observed);
  const expected = unequal(all);
  return expected === 0 ? null : minus(ratio(1), over(observed, ratio(expected, n * (n - 1))));
}

function solve({ codes }: Given): Solution | null {
  const alpha = alphaOf(codes);
  const without = codes.map((own) => alphaOf(codes.filter((other) => other !== own)));
  if (alpha === null || without.includes(null)) return null;
  const sure = without.filter((one) => one !== null);
  const order = range(codes.length).toSorted((a, b) => compare(at(sure, b), at(sure, a)));
  const [best = 0, next = 0] = order;
  if (compare(at(sure, best), at(sure, next)) === 0) return null;
  const options = codes.map((_, coder) => `C${coder + 1}`);
  const odd = at(options, best);
  const simple = alphaOf(codes, true);
  if (simple === null) return null;
  return {
    fields: [
      { name: "alpha", kind: "number", value: textOf(alpha) },
      { name: "odd", kind: "word", value: odd, options },
    ],
    slips: [
      [textOf(simple), odd],
      [textOf(alpha), at(options, order.at(-1) ?? 0)],
      [textOf(at(sure, best)), odd],
    ],
    steps: codes.length ** 2 * at(codes, 0).length,
  };
}

function table({ codes }: Given): string {
  return range(at(codes, 0).length)
    .map((unit) => {
      const given = codes.map((own, coder) => {
        const code = own[unit] ?? null;
        return `C${coder + 1} ${code === null ? "none" : CODES[code]}`;
      });
      return `unit ${unit + 1}: ${given.join(", ")}`;
    })
    .join("\n");
}
