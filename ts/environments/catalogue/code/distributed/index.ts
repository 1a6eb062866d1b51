/** Replicas, transactions and processors that see events in different orders. */
import type { Family } from "../../row.ts";
import { causalDelivery } from "./causal-delivery.ts";
import { equivalentSerialOrder } from "./equivalent-serial-order.ts";
import { linearisationWitness } from "./linearisation-witness.ts";
import { lockPriorityTrace } from "./lock-priority-trace.ts";
import { logFollower } from "./log-follower.ts";
import { mergedText } from "./merged-text.ts";
import { replicatedSet } from "./replicated-set.ts";
import { storeBufferOutcomes } from "./store-buffer-outcomes.ts";

export const distributed: Family = {
  id: "distributed",
  rows: [
    linearisationWitness,
    causalDelivery,
    replicatedSet,
    mergedText,
    logFollower,
    equivalentSerialOrder,
    lockPriorityTrace,
    storeBufferOutcomes,
  ],
};
