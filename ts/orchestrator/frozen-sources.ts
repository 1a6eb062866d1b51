/** Sources whose traces somebody else samples: no version of the policy is in them, so they never become too old for it. */
import type { AlgoBlock, TeacherBlock } from "../config/index.ts";
import type { Group } from "./dispatcher.ts";

/** Who samples in place of the policy; null: the policy itself. */
export function samplingTeacher({ type, teacher }: AlgoBlock): TeacherBlock | null {
  return type === "sft" ? teacher : null;
}

/** Whether a group becomes older with every step. */
export function agingOf(
  sources: readonly { name: string; algo: AlgoBlock }[],
): (group: Pick<Group, "task">) => boolean {
  const frozen = new Set(sources.filter(({ algo }) => samplingTeacher(algo) !== null).map(({ name }) => name));
  return ({ task }) => !frozen.has(task.source);
}
