/** Planning: a simulator runs the plan, and the shortest one is known. */
import type { Family } from "../../row.ts";
import { cratePushing } from "./crate-pushing.ts";
import { ferryConstraints } from "./ferry-constraints.ts";
import { hoppingPegs } from "./hopping-pegs.ts";
import { inventedPermutationPuzzle } from "./invented-permutation-puzzle.ts";
import { keyedMazeRoute } from "./keyed-maze-route.ts";
import { kitchenTiming } from "./kitchen-timing.ts";
import { parcelLogistics } from "./parcel-logistics.ts";
import { robotsWithoutCollision } from "./robots-without-collision.ts";
import { sensingPlan } from "./sensing-plan.ts";
import { unseenDomainPlan } from "./unseen-domain-plan.ts";

export const planning: Family = {
  id: "planning",
  rows: [
    unseenDomainPlan,
    robotsWithoutCollision,
    parcelLogistics,
    inventedPermutationPuzzle,
    kitchenTiming,
    sensingPlan,
    ferryConstraints,
    cratePushing,
    keyedMazeRoute,
    hoppingPegs,
  ],
};
