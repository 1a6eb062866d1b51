/** The sandbox daemon stands still for some seconds. */
import { daemonElsewhere } from "../../fault.ts";
import { pausing } from "../processes/stand-still.ts";

export const fault = pausing("sandboxd", {
  breaks: "calls of the env workers to their sandboxes; the limits of what runs in them, which the daemon watches",
  saves: "deadlines that allow for it; 30 s until a silent daemon counts as dead",
  obstacle: daemonElsewhere,
});
