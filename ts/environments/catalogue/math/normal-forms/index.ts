/** Normal forms of matrices, bases that bring them about, and a matrix equation. */
import type { Family } from "../../row.ts";
import { diagonalisingBasis } from "./diagonalising-basis.ts";
import { hermiteNormalForm } from "./hermite-normal-form.ts";
import { integerKernelBasis } from "./integer-kernel-basis.ts";
import { jordanBlocks } from "./jordan-blocks.ts";
import { smithFormWitness } from "./smith-form-witness.ts";
import { sylvesterEquation } from "./sylvester-equation.ts";

export const normalForms: Family = {
  id: "normal-forms",
  rows: [diagonalisingBasis, hermiteNormalForm, integerKernelBasis, jordanBlocks, smithFormWitness, sylvesterEquation],
};
