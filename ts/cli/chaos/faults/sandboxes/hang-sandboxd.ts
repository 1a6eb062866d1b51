/** The sandbox daemon hangs for ever without dying. */
import { daemonElsewhere } from "../../fault.ts";
import { hanging } from "../processes/stand-still.ts";

export const fault = hanging("sandboxd", {
  breaks: "every sandbox, what runs in one, and every call for one, which gets no answer",
  saves: "the question for its health each second: silent for 30 s, it is killed, and the launcher starts another one",
  obstacle: daemonElsewhere,
});
