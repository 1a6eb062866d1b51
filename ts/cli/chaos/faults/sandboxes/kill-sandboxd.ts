/** The sandbox daemon dies. */
import { daemonElsewhere } from "../../fault.ts";
import { killing } from "../processes/kill.ts";

export const fault = killing("sandboxd", {
  breaks: "every sandbox and every program that runs in one",
  saves: "the cause INFRA, which is no result: the rollout is tried again on the next daemon",
  obstacle: daemonElsewhere,
});
