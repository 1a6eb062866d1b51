/**
 * Takes a run back to its newest whole checkpoint while its launcher goes on: the way of `--resume`, inside the run.
 *
 * Processes without the run's state stay, with their files in `run/`; the orchestrator brings them the weights of the checkpoint. Everything
 * after the checkpoint is done again, as the next attempt.
 */
import type { RlConfig } from "../../config/index.ts";
import type { ModelDirs } from "../models/model-dirs.ts";
import type { LostProcess } from "../processes/state-holders.ts";
import { REPLACEABLE_COMPONENTS, type RunBase } from "../processes/rl-processes.ts";
import { clearLaterSteps, findResumedRun } from "./resume-run.ts";
import type { RunSession } from "./run-session.ts";

/** A run with its attempt, before its models are known. */
export type BegunRun = Omit<RunBase, keyof ModelDirs>;

export interface RecoveryOptions {
  kind: "rl" | "sft";
  config: Pick<RlConfig, "ckpt" | "output_dir" | "model">;
  session: RunSession;
}

export class Recovery {
  readonly #options: RecoveryOptions;
  #begun: BegunRun;
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: RecoveryOptions, begun: BegunRun) {
    this.#options = options;
    this.#begun = begun;
  }

  /**
   * The next attempt. All processes with the run's state must be gone.
   *
   * @throws PrlError those of `findResumedRun`
   */
  async goBack(lost: LostProcess): Promise<BegunRun> {
    const work = this.#goBack(lost);
    this.#work = work.catch(() => undefined);
    this.#begun = await work;
    return this.#begun;
  }

  /** Resolves when nothing is changed in the run directory any more. */
  async settled(): Promise<void> {
    await this.#work;
  }

  async #goBack({ component, index, exit, losses }: LostProcess): Promise<BegunRun> {
    const { kind, config, session } = this.#options;
    const { runDir, checkpoints } = this.#begun;
    session.enter("starting");
    const { checkpoint, attempt } = await findResumedRun(kind, config, runDir, "latest");
    const step = checkpoint?.step ?? 0;
    await clearLaterSteps(runDir, checkpoints, step, isOfOthers);
    await session.goBack(attempt, step);
    for (const skipped of checkpoint?.skipped ?? [])
      session.note(`Warning: checkpoint ${skipped.step} is passed over: ${skipped.reason}`);
    const from =
      checkpoint === null ? "step 0, because it has no whole checkpoint yet" : `the checkpoint of step ${step}`;
    session.note(`${component}-${index} ended (${exit}): the run goes on from ${from}, attempt ${attempt}`);
    session.restarted({ component, index, exit, deaths: losses, step });
    return { ...this.#begun, logs: session.logs, attempt, resume: checkpoint };
  }
}

/** Files in `run/` of the processes that stay, and those that they are writing, which `atomicWriteFile` names with a dot before. */
export function isOfOthers(name: string): boolean {
  const written = name.replace(/^\./u, "");
  return REPLACEABLE_COMPONENTS.some(
    (component) => written.startsWith(`${component}-`) || written.startsWith(`failure-${component}-`),
  );
}
