/** Integrals, limits, derivatives and sums as answers. Values were computed manually. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { verifyMath } from "../../../ts/verify/index.ts";
import { judge, type Judgement } from "../../../ts/verify/math/judge.ts";
import { parseUnit } from "../../../ts/verify/math/values/units.ts";

function judged(gold: string, answer: string): Judgement {
  const targets = ["boxed", "phrase", "latex", "number", "whole"] as const;
  return judge(gold, answer, { precision: 6, strict: true, allowSetRelations: true, targets, boxedPriority: "normal" });
}

const SAME: [gold: string, answer: string][] = [
  ["\\int_0^1 x^2 \\, dx", "1/3"],
  ["\\frac13", "\\boxed{\\int_0^1 x^2 dx}"],
  ["\\int_{0}^{\\pi} \\sin x \\, dx", "2"],
  ["\\int_0^\\infty e^{-x} dx", "1"],
  ["\\int_{-\\infty}^{\\infty} e^{-x^2} \\mathrm{d}x", "\\sqrt{\\pi}"],
  ["\\int_1^e \\frac{dx}{x}", "1"],
  ["\\int_0^1 \\frac{1}{1+x^2}dx", "\\pi/4"],
  ["\\int_0^1 \\frac{1}{\\sqrt{x}} dx", "2"],
  ["\\int_0^1 \\ln x dx", "-1"],
  ["\\int_0^1 x e^x dx", "1"],
  ["\\int_1^0 x dx", "-1/2"],
  ["\\int_{-1}^{1} x^3 dx", "0"],
  ["\\int_0^1\\int_0^1 xy \\,dx\\,dy", "1/4"],
  ["\\int_0^1 (x+1) dx + 3", "9/2"],
  ["2\\int_0^1 x dx", "1"],
  ["\\int_0^{\\frac{\\pi}{2}} \\cos\\theta \\, d\\theta", "1"],
  ["\\int_0^t x dx", "t^2/2"],
  ["\\int_0^1 x^2 dx", "\\int_0^1 t^2 dt"],
  ["\\int_a^b f(x) dx", "\\int_a^b f(t) dt"],
  ["3\\int_a^b f(x) dx + c", "c + 3\\int_a^b f(y) dy"],
  ["\\int 2x\\,dx", "x^2+C"],
  ["x^2+C", "\\int 2x\\,dx"],
  ["\\int \\cos x dx", "\\sin x"],
  ["\\lim_{x\\to 0} \\frac{\\sin x}{x}", "1"],
  ["\\lim_{x\\to 0} \\frac{1-\\cos x}{x^2}", "1/2"],
  ["\\lim_{x \\to \\infty} (1+\\frac1x)^x", "e"],
  ["\\lim_{n\\to\\infty}\\frac{2n+1}{n-3}", "2"],
  ["\\lim_{x\\to 2}\\frac{x^2-4}{x-2}", "4"],
  ["\\lim_{x\\to0^+} \\frac{|x|}{x}", "1"],
  ["\\lim_{x\\to0^-} \\frac{|x|}{x}", "-1"],
  ["\\lim_{h \\to 0} \\frac{(x+h)^2-x^2}{h}", "2x"],
  ["\\lim_{x\\to a} f(x)", "\\lim_{t\\to a} f(t)"],
  ["\\frac{d}{dx} x^3", "3x^2"],
  ["\\frac{d}{dx}(\\sin x)", "\\cos x"],
  ["\\frac{d^2}{dx^2}x^4", "12x^2"],
  ["\\frac{\\partial}{\\partial x}(x^2y)", "2xy"],
  ["\\frac{d(x^2)}{dx}", "2x"],
  ["\\frac{d}{dx}\\left(e^{2x}\\ln x\\right)", "2e^{2x}\\ln x+\\frac{e^{2x}}{x}"],
  ["\\frac{dy}{dx}=2x", "2x"],
  ["\\sum_{i=1}^{10} i", "55"],
  ["\\prod_{i=1}^{4} i", "24"],
  ["\\sum_{k=1}^n k^2", "\\sum_{j=1}^n j^2"],
  ["\\sum_{n=1}^{\\infty}\\frac{1}{n^2}", "\\sum_{k=1}^{\\infty} k^{-2}"],
];

const DIFFERENT: [gold: string, answer: string][] = [
  ["\\int_0^1 x^2 dx", "1/2"],
  ["\\int_0^1 x^2 dx", "0.34"],
  ["\\int_0^1 x^2 dx", "\\int_0^1 x^3 dx"],
  ["\\int_0^1 x^2 dx", "\\int_0^2 x^2 dx"],
  ["\\int_a^b f(x) dx", "\\int_a^b g(x) dx"],
  ["\\int_a^b f(x) dx", "\\int_b^a f(x) dx"],
  ["\\int_{-1}^{1}\\frac{1}{x}dx", "0"],
  ["\\int_0^1\\frac1x dx", "1"],
  ["\\int 2x dx", "x^3"],
  ["\\int 2x dx", "2"],
  ["\\lim_{x\\to 0} \\frac{\\sin x}{x}", "0"],
  ["\\lim_{x\\to0} \\frac{|x|}{x}", "1"],
  ["\\lim_{x\\to 0}\\frac{1}{x}", "0"],
  ["\\lim_{x\\to\\infty} \\sin x", "0"],
  ["\\lim_{x\\to\\infty}\\cos(2\\pi x)", "1"],
  ["\\lim_{x\\to\\infty}\\ln x", "9"],
  ["\\frac{d}{dx}x^3", "3x"],
  ["\\sum_{n=1}^{\\infty}\\frac{1}{n^2}", "\\sum_{k=1}^{\\infty} k^{-3}"],
  ["\\sum_{k=1}^{\\infty}\\frac1k", "5"],
];

describe("calculus as answers", () => {
  test.each(SAME)("%s is %s", (gold, answer) => {
    expect(judged(gold, answer)).toEqual({ correct: true, status: "ok" });
  });

  test.each(DIFFERENT)("%s is not %s", (gold, answer) => {
    expect(judged(gold, answer).correct).toBe(false);
  });

  test("polynomials are integrated and differentiated right", () => {
    const coefficients = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 1, maxLength: 5 });
    const written = (list: readonly number[]) => list.map((value, power) => `(${value})x^{${power}}`).join("+");
    fc.assert(
      fc.property(coefficients, fc.integer({ min: -3, max: 3 }), fc.integer({ min: -3, max: 3 }), (list, low, high) => {
        const primitive = [0, ...list.map((value, power) => value / (power + 1))];
        const at = (x: number) => primitive.reduce((sum, value, power) => sum + value * x ** power, 0);
        const area = `\\int_{${low}}^{${high}} ${written(list)} dx`;
        expect(judged(area, (at(high) - at(low)).toFixed(9)).correct).toBe(true);
        expect(judged(area, (at(high) - at(low) + 0.01).toFixed(9)).correct).toBe(false);
        const slope = list.slice(1).map((value, index) => value * (index + 1));
        expect(judged(`\\frac{d}{dx}(${written(list)})`, slope.length === 0 ? "0" : written(slope)).correct).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("a slow comparison is a timeout, and nonsense is not parsed", async () => {
    const deep = `${"\\int_0^1 ".repeat(7)} xyzuvwt dx dy dz du dv dw dt`;
    expect(await verifyMath(deep, "1/128", { deadlineMs: 300 })).toEqual({ correct: false, status: "timeout" });
    for (const broken of ["\\int_0^1 x", "\\int_0 x dx", "\\lim_{x} x", "\\frac{d}{dx}", "\\int"])
      expect(judged(broken, "1").correct).toBe(false);
  });
});

test("units of answers are those of the table of science, exactly", () => {
  for (const [unit, other, ratio] of [
    ["ft", "in", 12n],
    ["mile", "yd", 1760n],
    ["lb", "oz", 16n],
    ["kj", "j", 1000n],
    ["liter", "ml", 1000n],
    ["dollars", "cents", 100n],
  ] as const) {
    const [a, b] = [parseUnit(unit), parseUnit(other)];
    expect(a?.dimension).toBe(b?.dimension);
    if (a === null || b === null) throw new Error("no unit");
    expect(a.factor.numerator * b.factor.denominator).toBe(ratio * b.factor.numerator * a.factor.denominator);
  }
  expect(parseUnit("dollar")?.dimension).not.toBe(parseUnit("euro")?.dimension);
  expect(parseUnit("n m")?.dimension).toBe(parseUnit("j")?.dimension);
});
