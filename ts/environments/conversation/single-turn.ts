/** The rollout of most environments: one prompt, one completion. */
import type { Rollout } from "../model/environment.ts";
import type { Prompt } from "../../message.ts";
import { promptOf } from "./multi-turn.ts";

/** Samples one completion for the task row's `prompt`. A row without one is PRL_ENVIRONMENT_INVALID. */
export function singleTurn(): Rollout<{ prompt: Prompt }> {
  return async ({ task, sample }) => {
    await sample(promptOf(task));
  };
}
