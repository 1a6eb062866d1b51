/** Sources whose traces a teacher samples: they hold no version of the policy, so they never become stale. */
import type { AlgoBlock, TeacherBlock } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { Group } from "./dispatcher.ts";

/** The teacher that samples in place of the policy; null: the policy itself samples. */
export function samplingTeacher({ type, teacher }: AlgoBlock): TeacherBlock | null {
  return type === "sft" ? teacher : null;
}

/** The API key that a teacher's server requires. Errors: PRL_INFERENCE_AUTH when its variable is not set. */
export function teacherKey({ api_key_var: variable }: TeacherBlock): { apiKey?: string } {
  if (variable === null) return {};
  const apiKey = process.env[variable];
  if (apiKey !== undefined) return { apiKey };
  throw new PrlError("PRL_INFERENCE_AUTH", `the teacher's key is to be in ${variable}, which is not set`);
}

/** Whether a group becomes older with every step. */
export function agingOf(
  sources: readonly { name: string; algo: AlgoBlock }[],
): (group: Pick<Group, "task">) => boolean {
  const frozen = new Set(sources.filter(({ algo }) => samplingTeacher(algo) !== null).map(({ name }) => name));
  return ({ task }) => !frozen.has(task.source);
}
