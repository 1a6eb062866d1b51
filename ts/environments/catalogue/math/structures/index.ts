/** Combinatorial structures: permutations, set systems, trees, tables and paths, each counted by another principle. */
import type { Family } from "../../row.ts";
import { cycleStructurePermutations } from "./cycle-structure-permutations.ts";
import { degreeLabelledTrees } from "./degree-labelled-trees.ts";
import { descentPatternPermutations } from "./descent-pattern-permutations.ts";
import { digitRuleNumbers } from "./digit-rule-numbers.ts";
import { disjointPathFamilies } from "./disjoint-path-families.ts";
import { feudingGroups } from "./feuding-groups.ts";
import { guardedBoardPlacements } from "./guarded-board-placements.ts";
import { marginTables } from "./margin-tables.ts";
import { orderedFactorisations } from "./ordered-factorisations.ts";
import { pairingPlans } from "./pairing-plans.ts";
import { subsetTupleCensus } from "./subset-tuple-census.ts";

export const structures: Family = {
  id: "structures",
  rows: [
    cycleStructurePermutations,
    descentPatternPermutations,
    subsetTupleCensus,
    digitRuleNumbers,
    marginTables,
    guardedBoardPlacements,
    degreeLabelledTrees,
    feudingGroups,
    disjointPathFamilies,
    pairingPlans,
    orderedFactorisations,
  ],
};
