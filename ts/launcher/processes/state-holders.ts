/**
 * The processes that hold the run's state: trainer and orchestrator, or the one of supervised training.
 *
 * When one of them is lost, which means that something else ended it, the caller names a process that takes its place while the others go on; where
 * there is none, the others are killed and all are started again from what the caller goes back to. One that fails by itself says why, and would
 * fail again: its failure is the run's. Processes that hold no state stay.
 */
import { STOP_SIGNALS, stopExit } from "../../stop-signal.ts";
import { readFailureNote } from "../../failure-note.ts";
import { type ErrorCode, PrlError } from "../../errors.ts";
import { type ChildExit, type ChildSpec, describeExit, type RunChild } from "./child-process.ts";
import { fullDisk } from "./full-disk.ts";
import type { RestartBudget } from "./restarts/restart-budget.ts";
import type { Supervisor } from "./supervisor.ts";

/** A process that was lost and may be started again. */
export interface LostProcess {
  component: string;
  index: number;
  /** How it ended. */
  exit: string;
  /** Pause before the restart. */
  pauseMs: number;
  /** How often a process of its kind was lost within the budget's window, this time included. */
  losses: number;
}

export interface StateHoldersOptions {
  runDir: string;
  budget: RestartBudget;
  /** Starts the process that takes the place of a lost one while `others` go on; null: all go back. Default: none. */
  takeOver?: (lost: LostProcess, others: readonly RunChild[]) => Promise<ChildSpec | null>;
  /** Goes back to the newest state that is whole, and says what to start then. */
  goBack: (lost: LostProcess) => Promise<readonly ChildSpec[]>;
  /** Resolves when the run can work: these processes, in the order of the specs, and what they need. */
  ready?: (children: readonly RunChild[]) => Promise<void>;
  /** Called after that, unless a process was lost in the meantime. */
  onReady: () => void;
}

/**
 * Codes of a failure that is no fault of the process: another one that it started was killed, or it cannot take the place of a lost one and begins with the
 * others when all go back.
 */
const LOSSES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "PRL_PROCESS_DIED",
  "PRL_TRAIN_REPLAY",
  // The kernel may as well have killed it.
  "PRL_MEMORY",
]);
/** A process that failed waits this long for a sibling that was lost, which is the likely cause. */
const BLAME_MS = 200;
const RESUME_ADVICE = "go on with --resume, from the newest checkpoint, or from step 0 when there is none yet";

/** Resolves when all of them have ended with exit code 0. Errors: those of `Supervisor.failure` and `goBack`. */
export async function runStateHolders(
  supervisor: Supervisor,
  first: readonly ChildSpec[],
  options: StateHoldersOptions,
): Promise<void> {
  for (let specs = first; ;) {
    const lost = await new Together(supervisor, options).run(specs);
    if (lost === null) return;
    await pause(lost.pauseMs);
    assertRunning(supervisor);
    specs = await options.goBack(lost);
    assertRunning(supervisor);
  }
}

/** Something else may have ended the run in the meantime; then nothing may be started or changed any more. */
function assertRunning(supervisor: Supervisor): void {
  if (supervisor.stopping)
    throw new PrlError("PRL_RUN_INTERRUPTED", "the run has ended while a process was started again");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

/** The end of a process that had brought the run further since its start, or had not. */
interface KnownExit extends ChildExit {
  wasUseful: boolean;
}

/** Settles the end of a place. */
interface Done {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** One start of all of them, and what takes the place of some. */
class Together {
  readonly #supervisor: Supervisor;
  readonly #options: StateHoldersOptions;
  readonly #children: RunChild[] = [];
  /** Losses that are being made good. */
  readonly #replacing = new Set<LostProcess>();
  readonly #loss: Promise<LostProcess>;
  #lose: (lost: LostProcess) => void = () => undefined;
  #isLost = false;

  constructor(supervisor: Supervisor, options: StateHoldersOptions) {
    this.#supervisor = supervisor;
    this.#options = options;
    this.#loss = new Promise((resolve) => {
      this.#lose = resolve;
    });
  }

  /** Null when all are done. */
  async run(specs: readonly ChildSpec[]): Promise<LostProcess | null> {
    const done = specs.map((spec) => new Promise<void>((resolve, reject) => this.#start(spec, { resolve, reject })));
    const finished = Promise.all([this.#ready(), ...done]);
    // It may still reject after a loss, when the run fails later.
    finished.catch(() => undefined);
    const lost = await Promise.race([finished.then(() => null), this.#loss]);
    if (lost !== null) await this.#supervisor.end(this.#children);
    return lost;
  }

  async #ready(): Promise<void> {
    await this.#options.ready?.(this.#children);
    if (!this.#isLost) this.#options.onReady();
  }

  /** `done` settles when a process of this place has ended with 0, or the run fails. */
  #start(spec: ChildSpec, done: Done): void {
    const { furthest } = this.#supervisor;
    const before = furthest.of(spec.component);
    const child: RunChild = this.#supervisor.start({
      ...spec,
      advice: () => this.#advice(spec.component),
      onExit: (exit) => this.#ended(child, { ...exit, wasUseful: furthest.of(spec.component) > before }, done),
    });
    this.#children.push(child);
    this.#supervisor.finished(child).then(done.resolve, done.reject);
  }

  /** False when the run cannot go on. */
  async #ended(child: RunChild, exit: KnownExit, done: Done): Promise<boolean> {
    if (this.#isLost) return true;
    if (!(await this.#wasLost(child, exit))) {
      await new Promise((resolve) => setTimeout(resolve, BLAME_MS));
      // It may have failed because of the process that is missing.
      const [missing] = this.#replacing;
      if (missing !== undefined) this.#goBack(missing);
      return this.#isLost;
    }
    if (this.#isLost) return true;
    const { component, index } = child;
    const allowance = this.#options.budget.take(component, exit.wasUseful);
    if (allowance === null) return false;
    const lost = { component, index, exit: describeExit(exit), ...allowance };
    this.#replace(child, lost, done).catch((error: unknown) => this.#supervisor.fail(error));
    return true;
  }

  /** Starts what takes the place of a lost process, or goes back. */
  async #replace(child: RunChild, lost: LostProcess, done: Done): Promise<void> {
    this.#replacing.add(lost);
    const others = this.#newest().filter((one) => one !== child);
    const spec = await this.#options.takeOver?.(lost, others);
    if (spec === undefined || spec === null) return this.#goBack(lost);
    await pause(lost.pauseMs);
    if (this.#isLost || this.#supervisor.stopping) return;
    this.#replacing.delete(lost);
    this.#start(spec, done);
  }

  #goBack(lost: LostProcess): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#lose(lost);
  }

  /** The newest process of each place. */
  #newest(): RunChild[] {
    return [...new Map(this.#children.map((child) => [child.name, child])).values()];
  }

  /** Whether something other than the process itself ended it. */
  async #wasLost({ component, index, pid }: RunChild, { code, signal, reason }: ChildExit): Promise<boolean> {
    const { runDir } = this.#options;
    if (STOP_SIGNALS.some((name) => stopExit(name) === code)) return true;
    const found = await readFailureNote({ runDir, component, index });
    if (found !== null && found.pid === pid) return LOSSES.has(found.code as ErrorCode);
    if (signal === null && reason === undefined) return false;
    return (await fullDisk(runDir)) === null;
  }

  #advice(component: string): string {
    const { most, windowMs } = this.#options.budget.limits;
    const spent = `${component} was started again ${most} ${most === 1 ? "time" : "times"} within ${windowMs / 1000} s already (deployment.max_restarts)`;
    return most > 0 && this.#options.budget.isSpent(component) ? `${spent}; ${RESUME_ADVICE}` : RESUME_ADVICE;
  }
}
