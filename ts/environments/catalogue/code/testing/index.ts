/** Tests and the faults that they find: mutants, coverage, failing inputs, repairs. */
import type { Family } from "../../row.ts";
import { branchCoverInputs } from "./branch-cover-inputs.ts";
import { feasiblePaths } from "./feasible-paths.ts";
import { mutantKillingInput } from "./mutant-killing-input.ts";
import { oneLineRepair } from "./one-line-repair.ts";
import { survivingMutants } from "./surviving-mutants.ts";
import { decisionCoverage } from "./decision-coverage.ts";
import { pairwiseSuite } from "./pairwise-suite.ts";
import { passingTestOrder } from "./passing-test-order.ts";
import { shrunkInput } from "./shrunk-input.ts";
import { transitionTour } from "./transition-tour.ts";

export const testing: Family = {
  id: "testing",
  rows: [
    survivingMutants,
    mutantKillingInput,
    branchCoverInputs,
    oneLineRepair,
    feasiblePaths,
    decisionCoverage,
    pairwiseSuite,
    passingTestOrder,
    shrunkInput,
    transitionTour,
  ],
};
