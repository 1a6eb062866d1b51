/** The checks of `prl env validate` as rows of `prl env test`. */
import { CHECKS, type ValidationCheck, type ValidationReport } from "../validation/report.ts";
import type { CheckRow } from "./gate-report.ts";

const MEANING: Readonly<Record<ValidationCheck, string>> = {
  tasks: "there are tasks, and different ones have different keys",
  gold: "validate() accepts every task",
  wrong: "silence, other tasks' answers and choices of two do not get full marks",
  deterministic: "a seed gives the same tasks, and a reply the same score, every time",
  rollouts: "rollouts of a policy that knows nothing end without an error",
  duplicates: "tasks do not repeat",
  overlap: "no task of train is in eval",
  free: "copies of the prompt and pooled answers earn little",
};

/** `validates`: whether the environment has a check of its gold answers. */
export function validationRows({ tasks, passed, failures, notes }: ValidationReport, validates: boolean): CheckRow[] {
  return CHECKS.map((check): CheckRow => {
    const found = failures.filter((failure) => failure.check === check);
    const row = {
      part: "environment",
      check,
      failures: found.map(({ split, task, message }) => ({ split, task, message })),
    } as const;
    if (found.length > 0) return { ...row, status: "failed", what: MEANING[check] };
    const unsupported =
      check === "rollouts" ? notes.find((note) => note.startsWith("rollouts were not tried")) : undefined;
    if (unsupported !== undefined) return { ...row, status: "not checked", what: unsupported };
    if (passed.includes(check)) return { ...row, status: "passed", what: passedText(check, tasks) };
    const what = tasks.train + tasks.eval === 0 ? "there are no tasks" : missing(check, validates);
    return { ...row, status: "not checked", what };
  });
}

function passedText(check: ValidationCheck, { train, eval: held }: ValidationReport["tasks"]): string {
  return check === "tasks" ? `${train} of train and ${held} of eval looked at` : MEANING[check];
}

function missing(check: ValidationCheck, validates: boolean): string {
  if (check === "overlap") return "one of the splits has no tasks";
  if (["gold", "wrong", "free"].includes(check))
    return validates
      ? "its validate() scores no right reply, such as score(task.answer)"
      : "it has no validate(), so its gold answers are not known";
  return "there was nothing to check";
}
