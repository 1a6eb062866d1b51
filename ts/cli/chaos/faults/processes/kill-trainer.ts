/** The trainer dies. */
import { killing } from "./kill.ts";

export const fault = killing("trainer", {
  breaks: "weights and optimizer in memory; a version that is half written",
  saves: "its newest checkpoint and the batches since; the orchestrator goes on",
});
