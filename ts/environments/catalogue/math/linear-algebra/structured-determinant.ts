/** structured-determinant: the determinant of a large matrix that a rule describes. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { determinant, type Matrix } from "./matrices.ts";

interface Problem {
  size: number;
  pattern: "band" | "arrow" | "smaller-index" | "raised-diagonal";
  a: number;
  b: number;
  c: number;
}

/** By level: least and most rows. */
const SIZES = [
  [3, 4],
  [5, 7],
  [8, 11],
  [12, 17],
  [18, 26],
] as const;

export const structuredDeterminant = exactRow<Problem>({
  id: "structured-determinant",
  asks: "the determinant of a large matrix that a rule describes",
  kind: "integer",
  draw(rng, level) {
    const [least, most] = at(SIZES, level - 1);
    return {
      size: between(rng, least, most),
      pattern: rng.pick(["band", "arrow", "smaller-index", "raised-diagonal"] as const),
      a: between(rng, 2, 7),
      b: between(rng, 1, 6) * rng.pick([1, -1]),
      c: between(rng, 1, 5) * rng.pick([1, -1]),
    };
  },
  solve(problem) {
    const value = determinant(matrixOf(problem));
    return value > -6n && value < 6n ? null : { value: String(value), steps: problem.size ** 3 };
  },
  prompts: [
    (one) =>
      `Let A be the ${one.size} × ${one.size} matrix with entries a(i, j), rows and columns numbered from 1: ${ruleText(one)}. Find det A as an integer.`,
    (one) =>
      `Compute the determinant of the square matrix of order ${one.size} that is given by this rule for row i and column j. ${ruleText(one)}.`,
    (one) =>
      `A linear system with ${one.size} equations and as many unknowns has the coefficient matrix described so (i: equation, j: unknown, both from 1): ${ruleText(one)}. What is the exact value of its determinant?`,
    (one) =>
      `${ruleText(one)}. These are the entries of a matrix of ${one.size} rows and ${one.size} columns, i being the row and j the column, counted from 1. Give its determinant, a whole number.`,
  ],
  slips(problem) {
    const { size, a, b, c } = problem;
    return [
      BigInt(a) ** BigInt(size),
      determinant(matrixOf({ ...problem, size: size - 1 })),
      determinant(matrixOf({ ...problem, b: -b, c: c + 1 })),
      -determinant(matrixOf(problem)),
    ];
  },
});

function matrixOf({ size, pattern, a, b, c }: Problem): Matrix {
  const entry = (i: number, j: number): number => {
    switch (pattern) {
      case "band":
        return i === j ? a : j === i + 1 ? b : j === i - 1 ? c : 0;
      case "arrow":
        return i === j ? a + (i === 1 ? 0 : i % 2) : i === 1 ? b : j === 1 ? c : 0;
      case "smaller-index":
        return a * Math.min(i, j) + b + (i === j ? c : 0);
      case "raised-diagonal":
        return i === j ? a + i : i < j ? b : c;
    }
  };
  return range(size).map((i) => range(size).map((j) => entry(i + 1, j + 1)));
}

function ruleText({ pattern, a, b, c }: Problem): string {
  switch (pattern) {
    case "band":
      return `All a(i, i) are ${a}, all a(i, i + 1) are ${b}, all a(i + 1, i) are ${c}, and the other entries are 0`;
    case "arrow":
      return `The first row is ${a} followed by ${b} everywhere, below it the first column has ${c} everywhere; further a(i, i) for i > 1 is ${a} for even i and ${a + 1} for odd i, and the other entries are 0`;
    case "smaller-index":
      return `Off the diagonal a(i, j) = ${a} · min(i, j) + (${b}), and on it a(i, i) = ${a} · i + (${b + c})`;
    case "raised-diagonal":
      return `On the diagonal a(i, i) = ${a} + i, above it (i < j) all entries are ${b}, and below it all entries are ${c}`;
  }
}
