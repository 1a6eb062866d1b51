/** Partners with a hidden state: questions to them are few, and end in a deed that shows the result. */
import type { Family, WorldRow } from "../../row.ts";
import { adversaryGuess } from "./adversary-guess.ts";
import { auctionCampaign } from "./auction-campaign.ts";
import { clarifiedOrder } from "./clarified-order.ts";
import { driftingOrder } from "./drifting-order.ts";
import { packageNegotiation } from "./package-negotiation.ts";
import { pupilMisconception } from "./pupil-misconception.ts";

export const partners: Family<WorldRow> = {
  id: "partners",
  rows: [adversaryGuess, pupilMisconception, driftingOrder, clarifiedOrder, packageNegotiation, auctionCampaign],
};
