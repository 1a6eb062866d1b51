/** Groups, finite fields and codes. */
import type { Family } from "../../row.ts";
import { codeWeights } from "./code-weights.ts";
import { commonConjugation } from "./common-conjugation.ts";
import { corruptedEvaluations } from "./corrupted-evaluations.ts";
import { ellipticCurveMultiple } from "./elliptic-curve-multiple.ts";
import { modularGroupWord } from "./modular-group-word.ts";
import { permutationGroupOrder } from "./permutation-group-order.ts";
import { permutationRoot } from "./permutation-root.ts";
import { primeFieldFactors } from "./prime-field-factors.ts";
import { shortestRegister } from "./shortest-register.ts";
import { syndromeDecoding } from "./syndrome-decoding.ts";

export const algebra: Family = {
  id: "algebra",
  rows: [
    codeWeights,
    commonConjugation,
    corruptedEvaluations,
    ellipticCurveMultiple,
    modularGroupWord,
    permutationGroupOrder,
    permutationRoot,
    primeFieldFactors,
    shortestRegister,
    syndromeDecoding,
  ],
};
