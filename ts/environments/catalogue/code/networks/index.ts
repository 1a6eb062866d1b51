/** What protocols and network devices do with packets, names and headers. */
import type { Family } from "../../row.ts";
import { acknowledgementTrace } from "./acknowledgement-trace.ts";
import { cookieScope } from "./cookie-scope.ts";
import { prefixAggregation } from "./prefix-aggregation.ts";
import { referenceResolution } from "./reference-resolution.ts";
import { routeLookup } from "./route-lookup.ts";
import { rulePacketCounts } from "./rule-packet-counts.ts";
import { sharedCacheVerdicts } from "./shared-cache-verdicts.ts";
import { switchLearning } from "./switch-learning.ts";
import { translatedPackets } from "./translated-packets.ts";
import { zoneAnswers } from "./zone-answers.ts";

export const networks: Family = {
  id: "networks",
  rows: [
    routeLookup,
    prefixAggregation,
    rulePacketCounts,
    acknowledgementTrace,
    switchLearning,
    zoneAnswers,
    sharedCacheVerdicts,
    cookieScope,
    referenceResolution,
    translatedPackets,
  ],
};
