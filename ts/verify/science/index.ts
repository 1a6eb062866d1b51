/** Answers of physics and chemistry: quantities with units, significant figures, formulas, equations. */
export { balanceEquation, checkBalance, parseEquation, verifyEquation } from "./equation.ts";
export type { BalancedEquation, BalanceVerdict, Equation, EquationVerdict, Term } from "./equation.ts";
export { parseFormula, verifyFormula, type Formula } from "./formula.ts";
export {
  readNumber,
  roundToFigures,
  significantFigures,
  type MeasuredNumber,
  type SignificantFigures,
} from "./measured-number.ts";
export { parseQuantity, verifyQuantity } from "./quantity.ts";
export type { Quantity, QuantityVerdict, VerifyQuantityOptions } from "./quantity.ts";
export { convertUnit, parseUnit, type Unit } from "./unit.ts";
