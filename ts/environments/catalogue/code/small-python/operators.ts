/** Python's operators on whole numbers, without a check of the divisor: division by 0 is not a finite number. */
import type { Comparison, Operator } from "./syntax.ts";

/** Whether the comparison holds. NaN is unequal to everything. */
export function compared(a: number, is: Comparison, b: number): boolean {
  switch (is) {
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
    case "==":
      return a === b;
    case "!=":
      return a !== b;
  }
}

/** Division rounds down, and a remainder has the sign of the divisor. */
export function calculated(a: number, op: Operator, b: number): number {
  switch (op) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "//":
      return Math.floor(a / b);
    case "%":
      return a - b * Math.floor(a / b);
  }
}
