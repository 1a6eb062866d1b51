import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  balanceEquation,
  checkBalance,
  parseFormula,
  verifyEquation,
  verifyFormula,
} from "../../../../ts/verify/science/index.ts";
import { integerNullspace } from "../../../../ts/verify/science/nullspace.ts";

describe("parseFormula", () => {
  it.each([
    ["H2O", { H: 2, O: 1 }, 0],
    ["H₂O", { H: 2, O: 1 }, 0],
    ["Ca(OH)2", { Ca: 1, O: 2, H: 2 }, 0],
    ["CuSO4·5H2O", { Cu: 1, S: 1, O: 9, H: 10 }, 0],
    ["Al2(SO4)3", { Al: 2, S: 3, O: 12 }, 0],
    ["K4[Fe(CN)6]", { K: 4, Fe: 1, C: 6, N: 6 }, 0],
    ["[Fe(CN)6]4-", { Fe: 1, C: 6, N: 6 }, -4],
    ["[Co(NH3)6]^{3+}", { Co: 1, N: 6, H: 18 }, 3],
    ["SO₄²⁻", { S: 1, O: 4 }, -2],
    ["SO4^2-", { S: 1, O: 4 }, -2],
    ["SO_4^{2-}", { S: 1, O: 4 }, -2],
    ["NH4+", { N: 1, H: 4 }, 1],
    [String.raw`\ce{NH4+}`, { N: 1, H: 4 }, 1],
    ["Fe+3", { Fe: 1 }, 3],
    ["Ca++", { Ca: 1 }, 2],
    ["e-", {}, -1],
    ["Co", { Co: 1 }, 0],
    ["CO", { C: 1, O: 1 }, 0],
    ["CH3COOH", { C: 2, H: 4, O: 2 }, 0],
    ["NaCl(aq)", { Na: 1, Cl: 1 }, 0],
    ["D2O", { D: 2, O: 1 }, 0],
  ])("%s", (text, atoms, charge) => {
    const formula = parseFormula(text);
    expect(formula === null ? null : Object.fromEntries(formula.atoms)).toEqual(atoms);
    expect(formula?.charge).toBe(charge);
  });

  it.each(["", "h2o", "Xx2", "H2O)", "(H2O", "[H2O)", "H0", "()", "2", "H2O water", "Na+-", "H9999999"])(
    "%j is refused",
    (text) => {
      expect(parseFormula(text)).toBeNull();
    },
  );

  it("reads the formula that it was written from, in any nesting", () => {
    const atom = fc.tuple(fc.constantFrom("H", "C", "Na", "Fe", "O", "Cl"), fc.integer({ min: 1, max: 9 }));
    type Group = { text: string; atoms: Map<string, number> };
    const times = (count: number): string => (count === 1 ? "" : String(count));
    const merge = (groups: readonly (readonly [Group, number])[]): Map<string, number> => {
      const total = new Map<string, number>();
      for (const [{ atoms }, count] of groups)
        for (const [symbol, number] of atoms) total.set(symbol, (total.get(symbol) ?? 0) + number * count);
      return total;
    };
    const group = fc.letrec<{ node: Group }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        atom.map(([symbol, count]) => ({ text: symbol + times(count), atoms: new Map([[symbol, count]]) })),
        fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((parts) => ({
          text: parts.map(({ text }) => text).join(""),
          atoms: merge(parts.map((part) => [part, 1] as const)),
        })),
        fc.tuple(tie("node"), fc.integer({ min: 1, max: 4 }), fc.boolean()).map(([part, count, square]) => ({
          text: `${square ? "[" : "("}${part.text}${square ? "]" : ")"}${times(count)}`,
          atoms: merge([[part, count]]),
        })),
      ),
    })).node;
    fc.assert(
      fc.property(group, ({ text, atoms }) => {
        fc.pre(text.length <= 200);
        expect(Object.fromEntries(parseFormula(text)?.atoms ?? [])).toEqual(Object.fromEntries(atoms));
      }),
    );
  });

  it("compares what formulas are made of", () => {
    expect(verifyFormula("CH3CH2OH", "C2H6O").verdict).toBe("equal");
    expect(verifyFormula("Fe^{2+}", "Fe^{3+}").verdict).toBe("different_charge");
    expect(verifyFormula("H2O", "H2O2").verdict).toBe("different_atoms");
    expect(verifyFormula("H2O", "water").verdict).toBe("unparsable");
  });
});

const EQUATIONS: [string, number[]][] = [
  ["H2 + O2 -> H2O", [2, 1, 2]],
  ["Fe + O2 → Fe2O3", [4, 3, 2]],
  ["C3H8 + O2 = CO2 + H2O", [1, 5, 3, 4]],
  ["KMnO4 + HCl -> KCl + MnCl2 + H2O + Cl2", [2, 16, 2, 2, 8, 5]],
  ["MnO4^- + Fe^2+ + H^+ -> Mn^2+ + Fe^3+ + H2O", [1, 5, 8, 1, 5, 4]],
  ["Cr2O7^{2-} + H+ + e- -> Cr^{3+} + H2O", [1, 14, 6, 2, 7]],
  [
    "K4Fe(CN)6 + KMnO4 + H2SO4 -> KHSO4 + Fe2(SO4)3 + MnSO4 + HNO3 + CO2 + H2O",
    [10, 122, 299, 162, 5, 122, 60, 60, 188],
  ],
  ["CuSO4·5H2O -> CuSO4 + H2O", [1, 1, 5]],
  ["Ag+ + Cl- -> AgCl", [1, 1, 1]],
  ["N2(g) + H2(g) ⇌ NH3(g)", [1, 3, 2]],
  [String.raw`\ce{Al + Fe2O3 -> Al2O3 + Fe}`, [2, 1, 1, 2]],
];

describe("equations", () => {
  it.each(EQUATIONS)("%s is balanced by %j", (text, coefficients) => {
    const found = balanceEquation(text);
    expect(typeof found === "string" ? found : found.coefficients).toEqual(coefficients);
    if (typeof found === "string") return;
    expect(checkBalance(found.text, { smallest: true })).toBe("balanced");
    expect(verifyEquation(found.text, found.text).correct).toBe(true);
  });

  it.each([
    ["H2O -> H2O2", "impossible"],
    ["H2 + O2 -> CO2", "impossible"],
    ["C + O2 + N2 -> CO2 + CO + NO", "ambiguous"],
    ["H2 + O2", "unparsable"],
    ["H2 -> O2 -> H2O", "unparsable"],
    ["2 Foo -> Bar", "unparsable"],
  ])("%s: %s", (text, expected) => {
    expect(balanceEquation(text)).toBe(expected);
  });

  it.each([
    ["2 H2 + O2 -> 2 H2O", "balanced"],
    ["2H2+O2->2H2O", "balanced"],
    ["H2 + 1/2 O2 -> H2O", "balanced"],
    ["H2 + 0.5 O2 -> H2O", "balanced"],
    ["H2 + O2 -> H2O", "atoms"],
    ["Fe^{3+} + Ag -> Fe + Ag+", "charge"],
    ["Na+ + Cl- -> NaCl", "balanced"],
    ["water -> ice", "unparsable"],
  ])("%s: %s", (text, expected) => {
    expect(checkBalance(text)).toBe(expected);
  });

  it("of the smallest whole numbers are distinguished from others", () => {
    expect(checkBalance("4 H2 + 2 O2 -> 4 H2O", { smallest: true })).toBe("not_smallest");
    expect(checkBalance("H2 + 1/2 O2 -> H2O", { smallest: true })).toBe("not_smallest");
    expect(checkBalance("2 H2 + O2 -> 2 H2O", { smallest: true })).toBe("balanced");
  });

  it.each([
    ["2 H2O = 2 H2 + O2", {}, "different_species"],
    ["O2 + 2 H2 -> 2 H2O", {}, "equal"],
    ["4 H2 + 2 O2 -> 4 H2O", {}, "equal"],
    ["4 H2 + 2 O2 -> 4 H2O", { smallest: true }, "different_ratio"],
    ["2 H2 + O2 -> H2O", {}, "not_balanced"],
    ["2 H2(g) + O2(g) -> 2 H2O(l)", {}, "equal"],
    ["2 H2(g) + O2(g) -> 2 H2O(l)", { states: true }, "different_species"],
    ["hydrogen burns", {}, "unparsable"],
  ] as const)("%s against the making of water, %j: %s", (answer, options, verdict) => {
    expect(verifyEquation("2 H2 + O2 -> 2 H2O", answer, options).verdict).toBe(verdict);
  });

  it("balance whatever positive numbers made them", () => {
    const species = fc.uniqueArray(fc.constantFrom("CH4", "C2H6", "C3H8", "C2H5OH", "C6H12O6", "C8H18"), {
      minLength: 1,
      maxLength: 1,
    });
    fc.assert(
      fc.property(species, ([fuel = ""]) => {
        const found = balanceEquation(`${fuel} + O2 -> CO2 + H2O`);
        expect(typeof found === "string" ? found : checkBalance(found.text, { smallest: true })).toBe("balanced");
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), (text) => void balanceEquation(`${text} -> ${text}`)),
    );
  });
});

describe("integerNullspace", () => {
  it("gives whole vectors without a common divisor that every row is orthogonal to, as many as there should be", () => {
    const matrix = fc.integer({ min: 1, max: 5 }).chain((width) =>
      fc.array(fc.array(fc.bigInt({ min: -9n, max: 9n }), { minLength: width, maxLength: width }), {
        minLength: 1,
        maxLength: 5,
      }),
    );
    fc.assert(
      fc.property(matrix, (rows) => {
        const width = rows[0]?.length ?? 0;
        const basis = integerNullspace(rows, width);
        expect(basis.length).toBeGreaterThanOrEqual(width - rows.length);
        for (const vector of basis) {
          expect(vector.some((value) => value !== 0n)).toBe(true);
          for (const row of rows)
            expect(row.reduce((sum, value, index) => sum + value * (vector[index] ?? 0n), 0n)).toBe(0n);
        }
      }),
    );
  });
});
