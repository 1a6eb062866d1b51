/** Biology: inheritance, sequences, trees, populations and enzymes. */
import type { Family } from "../../row.ts";
import { alteredCodeTranslation } from "./altered-code-translation.ts";
import { digestMap } from "./digest-map.ts";
import { distanceTree } from "./distance-tree.ts";
import { enzymeInhibitorCall } from "./enzyme-inhibitor-call.ts";
import { genePoolForecast } from "./gene-pool-forecast.ts";
import { optimalAlignment } from "./optimal-alignment.ts";
import { outbreakSteps } from "./outbreak-steps.ts";
import { pedigreeOdds } from "./pedigree-odds.ts";
import { threePointMap } from "./three-point-map.ts";

export const biology: Family = {
  id: "biology",
  rows: [
    pedigreeOdds,
    threePointMap,
    alteredCodeTranslation,
    optimalAlignment,
    distanceTree,
    genePoolForecast,
    digestMap,
    enzymeInhibitorCall,
    outbreakSteps,
  ],
};
