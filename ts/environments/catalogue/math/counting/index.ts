/** Counting: each row needs another principle. */
import type { Family } from "../../row.ts";
import { adjacencyArrangements } from "./adjacency-arrangements.ts";
import { ballotAndTableaux } from "./ballot-and-tableaux.ts";
import { boxesAndBalls } from "./boxes-and-balls.ts";
import { forbiddenPositionPermutations } from "./forbidden-position-permutations.ts";
import { labelledGraphCensus } from "./labelled-graph-census.ts";
import { obstacleLatticePaths } from "./obstacle-lattice-paths.ts";
import { patternFreeWords } from "./pattern-free-words.ts";
import { forcingThreshold } from "./forcing-threshold.ts";
import { residueSubsets } from "./residue-subsets.ts";
import { restrictedPartitions } from "./restricted-partitions.ts";
import { roundTableSeating } from "./round-table-seating.ts";
import { stripTilings } from "./strip-tilings.ts";
import { surveyRegions } from "./survey-regions.ts";
import { symmetryColourings } from "./symmetry-colourings.ts";

export const counting: Family = {
  id: "counting",
  rows: [
    adjacencyArrangements,
    obstacleLatticePaths,
    symmetryColourings,
    restrictedPartitions,
    boxesAndBalls,
    forbiddenPositionPermutations,
    stripTilings,
    labelledGraphCensus,
    patternFreeWords,
    residueSubsets,
    ballotAndTableaux,
    roundTableSeating,
    surveyRegions,
    forcingThreshold,
  ],
};
