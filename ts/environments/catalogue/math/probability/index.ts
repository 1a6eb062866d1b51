/** Probability: finite models whose answers are exact fractions. */
import type { Family } from "../../row.ts";
import { absorbingChain } from "./absorbing-chain.ts";
import { bayesNetQuery } from "./bayes-net-query.ts";
import { collisionOdds } from "./collision-odds.ts";
import { densityTransform } from "./density-transform.ts";
import { dicePoolOdds } from "./dice-pool-odds.ts";
import { expectedStructureCount } from "./expected-structure-count.ts";
import { geometricRegionOdds } from "./geometric-region-odds.ts";
import { jointTableMoments } from "./joint-table-moments.ts";
import { mixedEquilibrium } from "./mixed-equilibrium.ts";
import { orderStatistics } from "./order-statistics.ts";
import { patternWaitingOdds } from "./pattern-waiting-odds.ts";
import { posteriorPredictiveUrns } from "./posterior-predictive-urns.ts";
import { stoppingPolicy } from "./stopping-policy.ts";
import { urnConditionals } from "./urn-conditionals.ts";

export const probability: Family = {
  id: "probability",
  rows: [
    urnConditionals,
    bayesNetQuery,
    absorbingChain,
    dicePoolOdds,
    orderStatistics,
    stoppingPolicy,
    mixedEquilibrium,
    patternWaitingOdds,
    collisionOdds,
    expectedStructureCount,
    geometricRegionOdds,
    densityTransform,
    jointTableMoments,
    posteriorPredictiveUrns,
  ],
};
