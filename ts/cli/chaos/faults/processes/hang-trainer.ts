/** The trainer hangs for ever without dying. */
import { hanging } from "./stand-still.ts";

export const fault = hanging("trainer", {
  breaks: "the run's progress, without an exit that could be noticed",
  saves: "the lifeline: silent for 30 s, it is killed, and another one goes on from its checkpoint",
});
