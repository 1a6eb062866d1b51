/**
 * Checks that an environment is fit to train on: its gold answers get the full reward, other answers and cheap replies do not, a seed
 * gives the same tasks and scores every time, no task comes twice or in both splits, and its rollouts run.
 *
 * It needs no model: the policy of the trial rollouts knows nothing. A check that is slow or hangs is given up and reported as a
 * failure. Each check is a file of `validation/`.
 */
import { abortSignal, checkOptions, number, only } from "../../options.ts";
import type { ConfiguredEnvironment } from "../model/configured-environment.ts";
import type { Split } from "../../datasets/index.ts";
import type { Task } from "../model/tasks.ts";
import { checkFree } from "./free-check.ts";
import type { Attempt } from "../gate/gate-report.ts";
import { Inspection } from "./inspection.ts";
import { checkGolds, checkScoresAgain, checkWrong } from "./replies-check.ts";
import { CHECKS, type ValidateOptions, type ValidationReport } from "./report.ts";
import { checkRollouts } from "./rollouts-check.ts";
import { checkDuplicates, checkOverlap, type Content, readContents, readTasks } from "./tasks-check.ts";

export type { ValidateOptions, ValidationCheck, ValidationFailure, ValidationReport } from "./report.ts";

const optionsSchema = only<ValidateOptions>({
  tasks: number.optional(),
  seed: number.optional(),
  deadlineMs: number.optional(),
  signal: abortSignal.optional(),
});

/** All problems are in the report; it rejects only with the signal's reason. */
export async function validateEnvironment(
  environment: ConfiguredEnvironment,
  options: ValidateOptions = {},
): Promise<ValidationReport> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "validateEnvironment", optionsSchema, options);
  return inspectEnvironment(environment, options);
}

/** The same; `begins` is called before anything of the environment runs. */
export async function inspectEnvironment(
  environment: ConfiguredEnvironment,
  options: ValidateOptions,
  begins?: (attempt: Attempt) => void,
): Promise<ValidationReport> {
  const inspection = new Inspection(environment, options, begins);
  const seen: Record<Split, Task[]> = { train: [], eval: [] };
  const contents: Record<Split, Content[]> = { train: [], eval: [] };
  for (const split of ["train", "eval"] as const) {
    const tasks = await readTasks(inspection, split);
    if (tasks === null || tasks.length === 0) continue;
    seen[split] = tasks;
    contents[split] = (await readContents(inspection, split)) ?? [];
    checkDuplicates(inspection, split, contents[split]);
    const golds = await checkGolds(inspection, split, tasks);
    await checkWrong(inspection, split, golds);
    await checkScoresAgain(inspection, split, golds);
    await checkFree(inspection, split, golds);
    await checkRollouts(inspection, split, tasks);
  }
  checkOverlap(inspection, contents);
  return reportOf(inspection, seen);
}

function reportOf(inspection: Inspection, seen: Readonly<Record<Split, readonly Task[]>>): ValidationReport {
  const { environment, tried, failures, notes, work } = inspection;
  if (!environment.validates) {
    notes.add("it has no validate(), so it is not known whether its gold answers get rewards and others do not");
    tried.delete("gold");
  }
  const looked = CHECKS.filter((check) => tried.has(check));
  return {
    passed: looked.filter((check) => !failures.some((failure) => failure.check === check)),
    tasks: { train: seen.train.length, eval: seen.eval.length },
    failures,
    notes: [...notes],
    perSecond: {
      tasks: work.tasks.perSecond,
      scores: work.scores.perSecond,
      rollouts: work.rollouts.perSecond,
    },
  };
}
