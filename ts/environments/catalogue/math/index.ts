/** The families of the category math. */
import type { Family } from "../row.ts";
import { algebra } from "./algebra/index.ts";
import { calculus } from "./calculus/index.ts";
import { counting } from "./counting/index.ts";
import { diophantine } from "./diophantine/index.ts";
import { exactArithmetic } from "./exact-arithmetic/index.ts";
import { graphs } from "./graphs/index.ts";
import { linearAlgebra } from "./linear-algebra/index.ts";
import { modularArithmetic } from "./modular/index.ts";
import { normalForms } from "./normal-forms/index.ts";
import { optimisation } from "./optimisation/index.ts";
import { polynomials } from "./polynomials/index.ts";
import { probability } from "./probability/index.ts";
import { processes } from "./processes/index.ts";
import { sequences } from "./sequences/index.ts";
import { structures } from "./structures/index.ts";
import { witnesses } from "./witnesses/index.ts";

export const FAMILIES: readonly Family[] = [
  modularArithmetic,
  counting,
  structures,
  probability,
  processes,
  linearAlgebra,
  sequences,
  exactArithmetic,
  polynomials,
  diophantine,
  witnesses,
  optimisation,
  graphs,
  algebra,
  calculus,
  normalForms,
];
