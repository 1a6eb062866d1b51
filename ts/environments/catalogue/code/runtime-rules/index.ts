/** What interpreters and compilers do with calls, containers, texts and scopes, by the rules of their languages. */
import type { Family } from "../../row.ts";
import { cachedCallCounts } from "./cached-call-counts.ts";
import { heapList } from "./heap-list.ts";
import { iterationWhileChanging } from "./iteration-while-changing.ts";
import { mergedDictKeys } from "./merged-dict-keys.ts";
import { starUnpacking } from "./star-unpacking.ts";
import { defaultArgumentTrace } from "./default-argument-trace.ts";
import { arrayMethodChain } from "./array-method-chain.ts";
import { shortCircuitTrace } from "./short-circuit-trace.ts";
import { fallthroughTrace } from "./fallthrough-trace.ts";
import { stringMethodChain } from "./string-method-chain.ts";
import { parameterExpansion } from "./parameter-expansion.ts";
import { destructorOrder } from "./destructor-order.ts";

export const runtimeRules: Family = {
  id: "runtime-rules",
  rows: [
    cachedCallCounts,
    heapList,
    iterationWhileChanging,
    starUnpacking,
    mergedDictKeys,
    defaultArgumentTrace,
    arrayMethodChain,
    shortCircuitTrace,
    fallthroughTrace,
    stringMethodChain,
    parameterExpansion,
    destructorOrder,
  ],
};
