/** Models whose answers are exact counts, indices and fractions, without a measured constant. */
import type { Family } from "../../row.ts";
import { backTitration } from "./back-titration.ts";
import { compartmentStocks } from "./compartment-stocks.ts";
import { geneNetworkCycles } from "./gene-network-cycles.ts";
import { latticePlanes } from "./lattice-planes.ts";
import { redoxBalanceMedium } from "./redox-balance-medium.ts";
import { stagePopulation } from "./stage-population.ts";
import { traitClassOdds } from "./trait-class-odds.ts";
import { treeChangeCount } from "./tree-change-count.ts";

export const countedModels: Family = {
  id: "counted-models",
  rows: [
    latticePlanes,
    redoxBalanceMedium,
    backTitration,
    treeChangeCount,
    traitClassOdds,
    stagePopulation,
    geneNetworkCycles,
    compartmentStocks,
  ],
};
