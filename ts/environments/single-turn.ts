/** The rollout of most environments: one prompt, one completion. */
import type { Rollout } from "./environment.ts";
import type { Prompt } from "./message.ts";

/** Samples one completion for the task row's `prompt`. */
export function singleTurn(): Rollout<{ prompt: Prompt }> {
  return async ({ task, sample }) => {
    await sample(task.prompt);
  };
}
