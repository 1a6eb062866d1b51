/** From the lines of `metrics.jsonl` to the events of a run: supervised steps, training steps, evaluations. */
import type { MetricsLine } from "../metrics/metrics.ts";
import type { RunEvent, SftStep } from "./run-event.ts";
import { RunHistory } from "./run-history.ts";

export interface RunFeedOptions {
  maxSteps: number | null;
  /** Steps of the supervised stage, if there is one. */
  sftSteps: number | null;
  onEvent: (event: RunEvent) => void;
}

export class RunFeed {
  readonly history: RunHistory;
  readonly #options: RunFeedOptions;
  #lastSftStep: SftStep | undefined;

  constructor(options: RunFeedOptions) {
    this.#options = options;
    this.history = new RunHistory(options.maxSteps);
  }

  /** The newest supervised step. */
  get lastSftStep(): SftStep | undefined {
    return this.#lastSftStep;
  }

  take(line: MetricsLine): void {
    if (line.component === "sft") {
      this.#takeSft(line);
      return;
    }
    const { steps, evaluations } = this.history.add(line);
    for (const report of evaluations) this.#options.onEvent({ type: "evaluation", report });
    for (const step of steps) this.#options.onEvent({ type: "step", step });
  }

  #takeSft(line: MetricsLine): void {
    if (line.step === 0) return; // A validation before the first step.
    const value = (name: string): number | undefined => {
      const found = line[name];
      return typeof found === "number" ? found : undefined;
    };
    this.#lastSftStep = {
      step: line.step,
      maxSteps: this.#options.sftSteps ?? line.step,
      loss: value("loss/mean"),
      valLoss: value("val/loss"),
      tokensPerSecond: value("perf/throughput"),
      learningRate: value("optim/lr"),
      seconds: value("time/step"),
    };
    this.#options.onEvent({ type: "sft-step", step: this.#lastSftStep });
  }
}
