/** Counts what happens in a simulated run between two of its batches. */
import type { GroupState, OrchestratorParts } from "../orchestrator/internal.ts";
import type { CpuAccount } from "./cpu-account.ts";
import type { SimulatedServer } from "./parts/simulated-server.ts";
import type { SimulatedTrainer } from "./parts/simulated-trainer.ts";
import type { SimulatedWorkers } from "./parts/simulated-workers.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export interface RunMeasures {
  /** Virtual seconds of the measurement, and the batches that were trained in it. */
  readonly seconds: number;
  readonly steps: number;
  readonly rollouts: number;
  /** Tokens of the trained batches. */
  readonly tokens: number;
  /** Shares of the seconds, 0 to 1: the trainer trains; it publishes a version. */
  readonly training: number;
  readonly publishing: number;
  /** Shares of the servers' seconds: a sequence runs; the server is paused for a version. */
  readonly sampling: number;
  readonly paused: number;
  /** Sequences that run on a server, in the mean of time and servers. */
  readonly running: number;
  readonly preemptions: number;
  /** Share of the env workers' seconds in which they compute. */
  readonly environments: number;
  /** Mean seconds from the publication of a version until all servers have it; 0: none came. */
  readonly spreading: number;
  /** Most steps that a trained rollout was behind; of the whole run, as the groups are. */
  readonly most_behind: number;
  readonly groups: Readonly<Record<GroupState, number>>;
  readonly begun: number;
  /** CPU seconds of the orchestrator for each rollout that came back: measured, all else follows from the seed. */
  readonly cpu_per_rollout: number;
}

interface RunMeterOptions {
  readonly clock: VirtualClock;
  readonly cpu: CpuAccount;
  readonly servers: readonly SimulatedServer[];
  readonly trainer: SimulatedTrainer;
  readonly workers: SimulatedWorkers;
  readonly parts: Pick<OrchestratorParts, "dispatcher" | "lifecycle">;
  readonly envWorkers: number;
}

export class RunMeter {
  readonly #options: RunMeterOptions;
  #from: Totals | null = null;
  #mostBehind = 0;
  readonly #spread = { seconds: 0, versions: 0 };

  constructor(options: RunMeterOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#from = this.#totals();
  }

  /** A batch was logged, whose oldest rollout is so many steps behind. */
  logged(behind: number): void {
    this.#mostBehind = Math.max(this.#mostBehind, behind);
  }

  /** All servers have a version, so many seconds after it was published. */
  spread(seconds: number): void {
    if (this.#from === null) return;
    this.#spread.seconds += seconds;
    this.#spread.versions += 1;
  }

  end(): RunMeasures {
    const { servers, envWorkers, parts } = this.#options;
    const from = this.#from ?? this.#totals();
    const to = this.#totals();
    const since = (of: (totals: Totals) => number): number => of(to) - of(from);
    const seconds = since(({ now }) => now);
    const returned = since(({ returned: count }) => count);
    return {
      seconds,
      steps: since(({ version }) => version),
      rollouts: since(({ rollouts }) => rollouts),
      tokens: since(({ tokens }) => tokens),
      training: since(({ training }) => training) / seconds,
      publishing: since(({ publishing }) => publishing) / seconds,
      sampling: since(({ sampling }) => sampling) / (seconds * servers.length),
      paused: since(({ paused }) => paused) / (seconds * servers.length),
      running: since(({ sequences }) => sequences) / (seconds * servers.length),
      preemptions: since(({ preemptions }) => preemptions),
      environments: since(({ environments }) => environments) / (seconds * envWorkers),
      spreading: this.#spread.versions === 0 ? 0 : this.#spread.seconds / this.#spread.versions,
      most_behind: this.#mostBehind,
      groups: { ...parts.lifecycle.groups },
      begun: parts.dispatcher.snapshot([]).opened,
      cpu_per_rollout: returned === 0 ? 0 : since(({ cpu }) => cpu) / returned,
    };
  }

  #totals(): Totals {
    const { clock, cpu, servers, trainer, workers } = this.#options;
    const { busy: training, publishing, rollouts, tokens } = trainer.totals();
    const { busy: environments, returned } = workers.totals();
    const sums = { sampling: 0, sequences: 0, paused: 0, preemptions: 0 };
    for (const server of servers) {
      const { busy, sequences, paused, preemptions } = server.totals();
      sums.sampling += busy;
      sums.sequences += sequences;
      sums.paused += paused;
      sums.preemptions += preemptions;
    }
    const { now } = clock;
    const { version } = trainer;
    return {
      now,
      version,
      training,
      publishing,
      rollouts,
      tokens,
      environments,
      returned,
      cpu: cpu.orchestrator,
      ...sums,
    };
  }
}

/** Sums since the beginning of the run. */
type Totals = Readonly<
  Record<
    | "now"
    | "version"
    | "training"
    | "publishing"
    | "rollouts"
    | "tokens"
    | "environments"
    | "returned"
    | "cpu"
    | "sampling"
    | "sequences"
    | "paused"
    | "preemptions",
    number
  >
>;
