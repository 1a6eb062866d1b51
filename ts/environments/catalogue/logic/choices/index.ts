/** Choices of groups: votes, matchings and debates whose outcome follows from a stated procedure. */
import type { Family } from "../../row.ts";
import { skepticalArguments } from "./skeptical-arguments.ts";
import { stablePartners } from "./stable-partners.ts";
import { strongestPathRanking } from "./strongest-path-ranking.ts";
import { topTradingCycles } from "./top-trading-cycles.ts";
import { transferredVotes } from "./transferred-votes.ts";
import { votingPower } from "./voting-power.ts";

export const choices: Family = {
  id: "choices",
  rows: [strongestPathRanking, transferredVotes, stablePartners, topTradingCycles, votingPower, skepticalArguments],
};
