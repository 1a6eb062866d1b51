/** Numbers and graphs whose answer is a witness that is checked: factors, chains, maps, sets. */
import type { Family } from "../../row.ts";
import { additionChain } from "./addition-chain.ts";
import { degreeListVerdict } from "./degree-list-verdict.ts";
import { equalSumSets } from "./equal-sum-sets.ts";
import { fullFactorisation } from "./full-factorisation.ts";
import { graphRelabelling } from "./graph-relabelling.ts";
import { matchingOrHallSet } from "./matching-or-hall-set.ts";
import { shortLatticeVector } from "./short-lattice-vector.ts";

export const witnesses: Family = {
  id: "witnesses",
  rows: [
    fullFactorisation,
    additionChain,
    shortLatticeVector,
    equalSumSets,
    matchingOrHallSet,
    degreeListVerdict,
    graphRelabelling,
  ],
};
