/** Checks that rollouts run, with a policy that knows nothing. */
import { randomUUID } from "node:crypto";

import type { Split } from "../../datasets/index.ts";
import type { ReplyClient } from "../rollout/reply-client.ts";
import type { Task } from "../model/tasks.ts";
import type { Inspection } from "./inspection.ts";

/** Number of trial rollouts per split. */
const TRIALS = 8;

const IGNORANT_POLICY: ReplyClient = {
  reply: async () => ({
    message: { role: "assistant", content: "I do not know." },
    toolCalls: [],
    finishReason: "stop",
    usage: null,
  }),
};

export async function checkRollouts(inspection: Inspection, split: Split, tasks: readonly Task[]): Promise<void> {
  for (const task of tasks.slice(0, TRIALS)) await tryRollout(inspection, split, task);
}

async function tryRollout(inspection: Inspection, split: Split, task: Task): Promise<void> {
  const { environment, options, work, notes } = inspection;
  const run = (signal: AbortSignal) =>
    environment.run({
      episodeId: randomUUID(),
      groupId: "validate",
      source: environment.name,
      task,
      sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
      seed: options.seed,
      run: { type: split, step: 0 },
      endpoint: IGNORANT_POLICY,
      signal,
    });
  const frame = await inspection.attempt("rollouts", split, task.key, (signal) =>
    work.rollouts.of(
      () => run(signal),
      () => 1,
    ),
  );
  const [error] = frame?.episode.errors ?? [];
  if (error === undefined) return;
  if (error.code === "PRL_ENVIRONMENT_UNSUPPORTED") notes.add(`rollouts were not tried: ${error.message}`);
  else inspection.fail("rollouts", split, task.key, `[${error.code}] ${error.message}`);
}
