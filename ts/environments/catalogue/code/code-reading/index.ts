/** Programs that are read: their output, state, costs and inputs, which an interpreter of this process knows. */
import type { Family } from "../../row.ts";
import { eventLoopOrder } from "./event-loop-order.ts";
import { exceptionPaths } from "./exception-paths.ts";
import { executionCounts } from "./execution-counts.ts";
import { generatorInterleaving } from "./generator-interleaving.ts";
import { heapAfterRun } from "./heap-after-run.ts";
import { inputForOutput } from "./input-for-output.ts";
import { loopInvariantSelection } from "./loop-invariant-selection.ts";
import { machineCodeReading } from "./machine-code-reading.ts";
import { numericEdgeReading } from "./numeric-edge-reading.ts";
import { operationCountFormula } from "./operation-count-formula.ts";
import { outputOfLoops } from "./output-of-loops.ts";
import { outputOfObjects } from "./output-of-objects.ts";
import { regexCallReading } from "./regex-call-reading.ts";
import { snippetDescriptionMatch } from "./snippet-description-match.ts";

export const codeReading: Family = {
  id: "code-reading",
  rows: [
    outputOfLoops,
    outputOfObjects,
    exceptionPaths,
    generatorInterleaving,
    eventLoopOrder,
    heapAfterRun,
    executionCounts,
    operationCountFormula,
    inputForOutput,
    loopInvariantSelection,
    snippetDescriptionMatch,
    regexCallReading,
    numericEdgeReading,
    machineCodeReading,
  ],
};
