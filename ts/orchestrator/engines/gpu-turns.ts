/**
 * Hands a GPU that trainer and inference servers share from one to the other (ARCHITECTURE.md, "One GPU for both").
 *
 * The servers sleep before a batch is committed, and the turn is the trainer's before the batch is visible. It is the servers' again when the
 * trainer has published the version of the step, which it does when it has left the GPU. So a batch that the trainer has not trained means that the turn
 * is the trainer's, or was about to be, which an orchestrator that takes over ends. The trainer's turn has a deadline; what the servers do in theirs has others.
 */
import { messageOf, PrlError } from "../../errors.ts";
import type { Metrics } from "../../monitors/index.ts";
import { type GpuTurn, readGpuTurn, type WeightFollower, writeGpuTurn } from "../../transports/index.ts";
import type { EngineFleet } from "./engine-fleet.ts";

export interface GpuTurnsOptions {
  runDir: string;
  attempt: number;
  weights: Pick<WeightFollower, "receive">;
  metrics: Pick<Metrics, "event">;
  /** Longest turn of the trainer. */
  turnMs: number;
}

export interface StartOptions {
  /** Step that the attempt begins with. */
  step: number;
  /** Puts the servers to sleep that an earlier attempt has left. */
  silence: () => Promise<void>;
  /** Resolves when the trainer, started since then (milliseconds since 1970), has published its first version and left the GPU. */
  trainerReady: (since: number) => Promise<void>;
  /** Makes a batch visible that was committed. */
  recover: () => Promise<void>;
  signal: AbortSignal;
}

export interface HandOver {
  engines: Pick<EngineFleet, "sleep">;
  /** Makes the batch of the step durable, and not visible. */
  commit: () => Promise<void>;
  signal: AbortSignal;
}

export class GpuTurns {
  readonly #options: GpuTurnsOptions;
  #now: GpuTurn | null = null;
  #late: NodeJS.Timeout | undefined;
  #fail: (error: unknown) => void = () => undefined;

  constructor(options: GpuTurnsOptions) {
    this.#options = options;
  }

  /** Begins the attempt's first turns, or goes on in the turn in which an earlier orchestrator of the attempt has left it: until the servers have it. */
  async begin({ step, silence, trainerReady, recover, signal }: StartOptions): Promise<void> {
    const { runDir, attempt } = this.#options;
    const left = await readGpuTurn(runDir);
    this.#now = left?.attempt === attempt ? left : null;
    if (this.#now === null) {
      await silence();
      await this.#give("start", step);
    }
    if (this.#now?.turn === "start") {
      const { since, step: trained } = this.#now;
      await trainerReady(since);
      await this.#give("servers", trained);
      return;
    }
    if (this.#now?.turn !== "trainer") return;
    await recover();
    await this.toServers(-1, signal);
  }

  /** The last step that the trainer has had its turn for. */
  get trained(): number {
    return this.#now?.step ?? 0;
  }

  /** `fail` is called with the error of a turn that lasts too long. */
  watch(fail: (error: unknown) => void): void {
    this.#fail = fail;
  }

  /** The servers sleep, so that `commit` may make the step's batch durable; then the turn is the trainer's. */
  async toTrainer(step: number, { engines, commit, signal }: HandOver): Promise<void> {
    const startedAt = performance.now();
    await engines.sleep(signal);
    const seconds = (performance.now() - startedAt) / 1000;
    await commit();
    await this.#give("trainer", step, seconds);
    const { turnMs } = this.#options;
    clearTimeout(this.#late);
    this.#late = setTimeout(() => this.#fail(this.#tooLong(step)), turnMs);
  }

  /** When the trainer has the turn: waits for the version of its step, unless `published` is that; then the turn is the servers', which may be woken. */
  async toServers(published: number, signal: AbortSignal): Promise<void> {
    if (this.#now === null || this.#now.turn === "servers") return;
    const { step } = this.#now;
    if (published < step) await this.#untilPublished(step, signal);
    clearTimeout(this.#late);
    await this.#give("servers", step);
  }

  async #untilPublished(step: number, signal: AbortSignal): Promise<void> {
    const { weights, turnMs } = this.#options;
    try {
      await (await weights.receive(step, { deadlineMs: turnMs, signal })).release();
    } catch (cause) {
      if (!(cause instanceof PrlError) || cause.code !== "PRL_DEADLINE") throw cause;
      throw this.#tooLong(step, cause);
    }
  }

  stop(): void {
    clearTimeout(this.#late);
  }

  async #give(turn: GpuTurn["turn"], step: number, seconds?: number): Promise<void> {
    const { runDir, attempt, metrics } = this.#options;
    this.#now = await writeGpuTurn(runDir, { attempt, turn, step });
    metrics.event("gpu_turn", { turn, step, ...(seconds !== undefined && { seconds }) });
  }

  #tooLong(step: number, cause?: unknown): PrlError {
    const seconds = this.#options.turnMs / 1000;
    const text = `the trainer has had the GPU for ${seconds} s, and version ${step} is not there while the servers sleep`;
    const why = cause === undefined ? "" : ` (${messageOf(cause)})`;
    return new PrlError(
      "PRL_GPU_TURN",
      `${text}${why}: see the trainer's log, raise deployment.turn_timeout_s if its step is that long, and go on with --resume`,
      { cause },
    );
  }
}
