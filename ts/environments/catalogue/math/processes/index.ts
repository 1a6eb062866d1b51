/** Random processes: chains, trees and networks that evolve by chance, with exact answers. */
import type { Family } from "../../row.ts";
import { branchingGenerations } from "./branching-generations.ts";
import { graphCoverTime } from "./graph-cover-time.ts";
import { hiddenChainSmoothing } from "./hidden-chain-smoothing.ts";
import { longRunReward } from "./long-run-reward.ts";
import { matchScoreRace } from "./match-score-race.ts";
import { networkReliability } from "./network-reliability.ts";

export const processes: Family = {
  id: "processes",
  rows: [networkReliability, longRunReward, hiddenChainSmoothing, branchingGenerations, graphCoverTime, matchScoreRace],
};
