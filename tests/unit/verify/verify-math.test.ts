import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { extractAnswer } from "../../../ts/verify/extract-answer.ts";
import { judge, type Judgement } from "../../../ts/verify/math/judge.ts";

/** The expected verdicts were judged manually; the families are those in which other verifiers are known to fail. */
const SAME: [gold: string, answer: string][] = [
  ["1/2", "0.5"],
  ["\\frac12", "0.5"],
  ["\\boxed{\\frac{1}{2}}", "The answer is $\\frac{2}{4}$."],
  ["1/3", "0.333333"],
  ["x+1", "1 + x"],
  ["2by", "2yb"],
  ["3by+1", "1+3yb"],
  ["(x+1)^2", "x^2+2x+1"],
  ["\\sin^2 x+\\cos^2 x", "1"],
  ["\\sqrt{8}", "2\\sqrt2"],
  ["0.\\overline{3}", "1/3"],
  ["0.(3)", "\\frac13"],
  ["0.1\\overline{6}", "1/6"],
  ["0.333...", "1/3"],
  ["3\\frac12", "7/2"],
  ["3 1/2", "3.5"],
  ["1,234", "1234"],
  ["1{,}234", "1234"],
  ["11,\\! 111", "11111"],
  ["1 234 567", "1234567"],
  ["1.5e-3", "0.0015"],
  ["1.5\\times 10^{-3}", "0.0015"],
  ["28\\%", "28"],
  ["28\\%", "0.28"],
  ["28", "28\\%"],
  ["28 percent", "28%"],
  ["5 cm", "5"],
  ["1 m", "100 cm"],
  ["5\\text{ cm}^2", "5 \\text{ square centimeters}"],
  ["90^\\circ", "90"],
  ["90°", "\\pi/2"],
  ["\\sin(30^\\circ)", "1/2"],
  ["(1,2)", "(1,2)"],
  ["\\{1,2\\}", "\\{2,1\\}"],
  ["\\{1,2\\}", "1, 2"],
  ["[1,2)", "1\\le x<2"],
  ["(-\\infty,2)\\cup(2,\\infty)", "x\\ne 2"],
  ["-2\\le x\\le7", "x\\in[-2,7]"],
  ["x<3", "2x<6"],
  ["|x-1|<2", "-1<x<3"],
  ["x^2>4", "x<-2 or x>2"],
  ["x=5", "5"],
  ["5", "x=5"],
  ["2x+4y-3=0", "y=-x/2+3/4"],
  ["x=3", "2x+1=7"],
  ["x=\\pm2", "x^2=4"],
  ["x^2=4", "x=2 or x=-2"],
  ["2+3i", "3i+2"],
  ["i^2", "-1"],
  ["\\sqrt{-4}", "2i"],
  ["e^{i\\pi}", "-1"],
  ["|3+4i|", "5"],
  ["2i", "2\\cdot i"],
  ["\\overline{2+i}", "2-i"],
  ["101_2", "5_{10}"],
  ["3:4", "6:8"],
  ["3:30", "1:10"],
  ["\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{bmatrix}1&2\\\\3&4.0\\end{bmatrix}"],
  ["\\text{no solution}", "no solutions"],
  ["(C)", "C"],
  ["\\text{even}", "even"],
  ["\\text{E}", "E"],
  ["1\\pm\\sqrt{19}", "1+\\sqrt{19}, 1-\\sqrt{19}"],
  ["\\frac{1\\pm\\sqrt5}{2}", "\\left\\{\\frac{1-\\sqrt5}{2},\\frac{1+\\sqrt5}{2}\\right\\}"],
  ["7!!", "105"],
  ["\\binom{5}{2}", "10"],
  ["abc", "cab"],
  ["\\lfloor 2.7\\rfloor", "2"],
  ["17 \\bmod 5", "2"],
  ["\\log_2 8", "3"],
  ["\\ln e^2", "2"],
  ["\\lg 100", "2"],
  ["\\sum_{k=1}^{10}k", "55"],
  ["\\frac{\\sqrt{3}}{3}", "1/\\sqrt3"],
  ["\\sqrt[3]{-8}", "-2"],
  ["2^{1/2}", "√2"],
  ["x²", "x^2"],
  ["½", "0.5"],
  ["3 × 10⁶", "3000000"],
  ["−5", "-5"],
  ["∞", "\\infty"],
  ["\\$5", "5"],
  ["\\$5.00", "5 dollars"],
  ["5.", "5"],
  ["\\displaystyle \\frac{\\pi}{4}", "\\tan^{-1}(1)"],
  ["\\arctan 1", "\\frac\\pi4"],
  ["x \\ge 2", "[2,\\infty)"],
  ["\\emptyset", "\\{\\}"],
  ["\\mathbb{R}", "(-\\infty,\\infty)"],
  ["(x-1)(x+2)", "x^2+x-2"],
  ["\\sqrt{x^2}", "|x|"],
  ["y=2x+1", "2x-y+1=0"],
  ["f(x)=2x", "2x"],
  ["2^{1000}", "2^{1000}"],
  ["\\boxed{5} or actually \\boxed{6}", "6"],
  ["the answer is 42", "42"],
  ["So we get 12 apples and 7 steps", "7"],
  ["11", "x = 5+5+1 = 11"],
  ["x=1/3\\approx 0.33", "1/3"],
  ["\\frac{3}{4}x", "0.75x"],
  ["\\boxed{\\{x \\mid x > 2\\}}", "(2,\\infty)"],
  ["]1,2[", "(1,2)"],
  ["\\langle 1,2\\rangle", "(1,2)"],
  ["a^2-b^2", "(a-b)(a+b)"],
  ["-\\frac{1}{2}", "\\frac{-1}{2}"],
  ["6\\text{ hours}", "360 minutes"],
  ["12:30 \\text{ PM}", "12:30"],
  ["\\cos 20^\\circ", "0.9396926"],
  ["1,000,000", "10^6"],
  ["\\frac{1}{2}\\%", "0.005"],
  ["\\text{True}", "True"],
  ["2\\sqrt{3}\\,\\text{m/s}", "2\\sqrt3"],
  ["3\\pi", "9.424778"],
  ["4x^3+C", "C+4x^3"],
  ["\\{1,3\\}", "(1,3)"],
  ["x=1,y=2", "(1,2)"],
  ["x=1, x=2", "\\{1,2\\}"],
  ["4,2", "2,4"],
  ["14", "2 \\times 7"],
  ["\\sqrt{1+\\sqrt{2}}", "1.553774"],
  ["{1 \\over 2}", "1/2"],
  ["\\frac{\\sqrt{3}}{2}", "{\\sqrt{3} \\over 2}"],
  ["1", "{{1 \\over 2} \\over {1 \\over 2}}"],
  ["{5 \\choose 2}", "10"],
  ["1⁄2", "0.5"],
  ["\\operatorname{lcm}(4,6)", "12"],
  ["2\\operatorname{cis}\\frac{\\pi}{2}", "2i"],
  ["1500", "1.5 x 10^3"],
  ["e^{x+y}", "e^xe^y"],
  ["\\arcsin x+\\arccos x", "\\frac\\pi2"],
  ["-5%", "-5"],
  ["-5%", "-0.05"],
  ["5\\,\\text{m/s}", "18\\text{ km/h}"],
  ["A \\cup B", "B∪A"],
  ["3", "so x = 3, and thus 3"],
  ["-3", "The result is −3"],
  ["-3", "The result is -3"],
  ["7", "It has 7 sides"],
  ["3,4", "\\boxed{3} and \\boxed{4}"],
  ["\\{3,4\\}", "$\\boxed{3}$, $\\boxed{4}$"],
  ["xy^2", "x\\cdot y^2"],
  ["3x^2y", "3yx^2"],
  ["x_1y_2", "y_2x_1"],
  ["\\sin^2 x", "sin(x)^2"],
  ["\\begin{pmatrix} -1/3 \\\\ 2/3 \\end{pmatrix}", "\\begin{pmatrix}-\\frac13\\\\\\frac23\\end{pmatrix}"],
  ["42", "<answer>42</answer>"],
  ["13", "Therefore, the answer is 13 (thirteen)."],
  ["366", "Total = 366 downloads."],
  ["864 \\mbox{ inches}^2", "864"],
  ["D", "\\boxed{\\textbf{(D)}\\ 5}"],
  ["(x,y)=(3,4)", "(3,4)"],
  ["\\text{all real numbers}", "(-\\infty,\\infty)"],
  ["\\emptyset", "no solution"],
  ["2500000", "2.5 million"],
  ["21", "twenty-one"],
  ["4\\pi", "4\\pi \\approx 12.57"],
  ["\\sqrt{2}\\approx1.414", "\\sqrt2"],
  ["12.57", "4\\pi \\approx 12.57"],
  ["12.56", "4\\pi \\approx 12.56"],
  ["13", "4\\pi = 12.57 \\approx 13"],
  ["1", "1 \\approx 2 \\approx 3"],
  ["3", "x \\equiv 3 \\pmod 7"],
  ["3 \\pmod 7", "10"],
  ["x>3000000", "(3000000,\\infty)"],
  ["\\infty", "2\\infty"],
];

const DIFFERENT: [gold: string, answer: string][] = [
  ["1/3", "0.33333"],
  ["1/3", "0.5"],
  ["32, 349", "32349"],
  ["1e-7", "2e-7"],
  ["2\\cdot 10^{-19}", "1\\cdot 10^{-19}"],
  ["0.28", "28"],
  ["28", "28/100"],
  ["5 cm", "5 m"],
  ["(1,2)", "(2,1)"],
  ["(1,2,3)", "(1,3,2)"],
  ["x<3", "2x<7"],
  ["x<3", "x\\le 3"],
  ["x^2>4", "x<-2 \\text{ or } x>3"],
  ["x=1", "y=1"],
  ["1", "2x+z=1"],
  ["101_2", "101_3"],
  ["101_2", "101"],
  ["\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1&2\\end{pmatrix}"],
  ["C", "B"],
  ["\\sqrt{x^2}", "x"],
  ["10^{100}", "10^{100}+1"],
  ["<think> \\boxed{5}", "5"],
  ["9.42", "3\\pi"],
  ["4", "First \\boxed{4} then actually \\boxed{5}"],
  ["A \\setminus B", "B \\setminus A"],
  ["A \\cup B", "A \\cap B"],
  ["5\\,\\text{m/s}", "18\\text{ m/h}"],
  ["\\arcsin x", "\\arccos x"],
  ["xy^2", "x^2y^2"],
  ["D", "\\boxed{\\textbf{(C)}\\ 5}"],
  ["(3,4)", "(x,y)=(4,3)"],
  ["4\\pi", "5\\pi \\approx 12.57"],
  // Answers that would be right for any gold number.
  ["2", "1 \\approx 2 \\approx 3"],
  ["3", "\\boxed{1 \\approx 2 \\approx 3 \\approx 4 \\approx 5}"],
  ["501", "500.5 \\approx 500 \\approx 501"],
  ["12.57", "5\\pi \\approx 12.57"],
  ["42", "0 \\pmod 1"],
  ["42", "x \\equiv 0 \\pmod 2"],
  ["x>3000000", "x>2000000"],
  ["\\mathbb{R}", "x<10^{12}"],
  ["\\emptyset", "x>2000000"],
  ["-\\infty", "2\\infty"],
];

function judged(gold: string, answer: string): Judgement {
  const targets = ["boxed", "phrase", "latex", "number", "whole"] as const;
  return judge(gold, answer, { precision: 6, strict: true, allowSetRelations: true, targets, boxedPriority: "normal" });
}

/** One expression in LaTeX and as it is typed. */
interface Written {
  latex: string;
  plain: string;
}

const expressions = fc.letrec<{ any: Written }>((tie) => {
  const both = fc.tuple(tie("any"), tie("any"));
  return {
    any: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.integer({ min: 1, max: 30 }).map((value) => ({ latex: String(value), plain: String(value) })),
      fc.constantFrom("x", "y", "a", "n").map((letter) => ({ latex: letter, plain: letter })),
      both.map(([a, b]) => ({ latex: `\\left(${a.latex}+${b.latex}\\right)`, plain: `(${a.plain} + ${b.plain})` })),
      both.map(([a, b]) => ({ latex: `\\left(${a.latex}-${b.latex}\\right)`, plain: `(${a.plain} - ${b.plain})` })),
      both.map(([a, b]) => ({ latex: `${a.latex}\\cdot ${b.latex}`, plain: `(${a.plain})*(${b.plain})` })),
      both.map(([a, b]) => ({ latex: `\\frac{${a.latex}}{${b.latex}}`, plain: `((${a.plain})/(${b.plain}))` })),
      tie("any").map(({ latex, plain }) => ({ latex: `\\left(${latex}\\right)^{2}`, plain: `(${plain})^2` })),
      tie("any").map(({ latex, plain }) => ({ latex: `\\sqrt{${latex}}`, plain: `sqrt(${plain})` })),
      tie("any").map(({ latex, plain }) => ({ latex: `\\sin\\left(${latex}\\right)`, plain: `sin(${plain})` })),
    ),
  };
}).any;

describe("judge", () => {
  test("knows an expression in LaTeX as the same in plain text", () => {
    fc.assert(
      fc.property(expressions, ({ latex, plain }) => {
        fc.pre(latex.length < 150);
        const verdict = judged(latex, plain);
        expect(verdict.status).toBe("ok");
        // What has no value, as a division by zero, equals nothing, itself neither.
        expect(verdict.correct || !judged(latex, latex).correct).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("knows a product of powers however its letters are written together", () => {
    const powers = fc.uniqueArray(
      fc.tuple(fc.constantFrom("a", "b", "c", "x", "y", "z"), fc.integer({ min: 1, max: 5 })),
      {
        minLength: 1,
        maxLength: 4,
        selector: ([letter]) => letter,
      },
    );
    const written = (list: [string, number][], joint: string, brace: boolean): string =>
      list.map(([letter, power]) => (power === 1 ? letter : `${letter}^${brace ? `{${power}}` : power}`)).join(joint);
    const joints = fc.constantFrom("", " ", "\\cdot ", "*", "\\,");
    fc.assert(
      fc.property(powers, joints, fc.boolean(), fc.integer({ min: 2, max: 9 }), (list, joint, brace, factor) => {
        const gold = `${factor}${written(list, "", false)}`;
        const answer = `${factor}${written(list.toReversed(), joint, brace)}`;
        expect(judged(gold, answer).correct).toBe(true);
        const raised = list.map(([letter, power], at): [string, number] => [letter, at === 0 ? power + 1 : power]);
        expect(judged(gold, `${factor}${written(raised, joint, brace)}`).correct).toBe(false);
      }),
    );
  });

  test.each(SAME)("%s is %s", (gold, answer) => {
    expect(judged(gold, answer)).toEqual({ correct: true, status: "ok" });
  });

  test.each(DIFFERENT)("%s is not %s", (gold, answer) => {
    expect(judged(gold, answer).correct).toBe(false);
  });

  test("equal fractions in any notation are equal, others are not", () => {
    const whole = fc.integer({ min: -999, max: 999 });
    const natural = fc.integer({ min: 1, max: 99 });
    const property = fc.property(whole, natural, natural, (a, b, k) => {
      expect(judged(`\\frac{${a}}{${b}}`, `${a * k}/${b * k}`).correct).toBe(true);
      expect(judged(`\\boxed{${a}/${b}}`, `The answer is $${a * k + 1}/${b * k}$.`).correct).toBe(false);
    });
    fc.assert(property, { numRuns: 100 });
  });

  test("polynomials are equal to their expansions", () => {
    const digit = fc.integer({ min: -9, max: 9 });
    const property = fc.property(digit, digit, digit, (a, b, c) => {
      const expanded = `${c}x^2 + ${-c * (a + b)}x + ${c * a * b}`;
      expect(judged(`${c}(x - (${a}))(x - (${b}))`, expanded).correct).toBe(true);
      expect(judged(`${c}(x - (${a}))(x - (${b}))`, `${expanded} + 1`).correct).toBe(false);
    });
    fc.assert(property, { numRuns: 100 });
  });

  test("never throws and never hangs, whatever the texts are", () => {
    const piece = fc.constantFrom(
      "\\frac",
      "{",
      "}",
      "(",
      ")",
      "[",
      "]",
      "^",
      "_",
      "\\sqrt",
      "x",
      "1",
      ",",
      "=",
      "<",
      "\\cup",
      "|",
      "\\pm",
      "%",
      "$",
      "\\sum_{k=1}^{9}",
      "\\begin{pmatrix}",
      "\\\\",
      "&",
      "\\end{pmatrix}",
      "!",
      "\\text{a b}",
      "\\boxed{",
      ".",
      "e",
      "0.",
      "i",
      "°",
    );
    const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    const property = fc.property(text, text, (gold, answer) => {
      const verdict = judged(gold, answer);
      expect(["ok", "unparsable"]).toContain(verdict.status);
    });
    fc.assert(property, { numRuns: 400 });
  });

  test("300 nested roots and 5000 terms are ordinary answers", () => {
    const roots = "\\sqrt{".repeat(300) + "2" + "}".repeat(300);
    expect(judged(roots, roots)).toEqual({ correct: true, status: "ok" });
    const terms = Array.from({ length: 5000 }, (_, i) => i).join("+");
    expect(judged(terms, String(4999 * 2500))).toEqual({ correct: true, status: "ok" });
  });

  test("words and letters are equal only to themselves", () => {
    for (const [gold, answer] of [
      ["east", "seat"],
      ["\\text{odd}", "even"],
    ] as const) {
      expect(judged(gold, answer).correct).toBe(false);
      expect(judged(gold, gold.toUpperCase()).correct).toBe(!gold.startsWith("\\"));
    }
  });
});

describe("extractAnswer", () => {
  test.each([
    ["boxed", "first \\boxed{1} then \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"],
    ["boxed", "closed \\boxed{3} and open \\boxed{4", "3"],
    ["boxed", "none", null],
    ["boxed", "\\boxed{1}\\quad\\text{and}\\quad\\boxed{2}", "1, 2"],
    ["boxed", "$x=\\boxed{1}$ or $x=\\boxed{2}$", "x = 1, x = 2"],
    ["boxed", "\\boxed{1}, no, \\boxed{2}", "2"],
    ["boxed", "so \\boxed{\\boxed{5}}", "5"],
    ["hash", "so\n#### 1,234\nbye", "1,234"],
    ["hash", "#### 1\n#### 2", "2"],
    ["last_number", "12 apples and -7.5 pears", "-7.5"],
    ["last_number", "AZYUK2A", null],
    ["the_answer_is", "I think the answer is $x+1$.", "x+1"],
    ["the_answer_is", "The answer is 42. Bye.", "42"],
    ["boxed", "<think>\\boxed{1}</think> \\boxed{2}", "2"],
    ["boxed", "<think>\\boxed{1}", null],
    ["boxed", "<think>a</think> <think> \\boxed{1}", null],
  ] as const)("%s: %s", (from, text, expected) => {
    expect(extractAnswer(text, { from })).toBe(expected);
  });

  test("without strictness the whole text is the answer", () => {
    expect(extractAnswer(" plain ", { strict: false })).toBe("plain");
    expect(() => extractAnswer("1", { from: "nowhere" as "hash" })).toThrow(/use boxed, hash/u);
  });
});
