/** Progress as plain lines, for logs and pipes: one line per step, in prime-rl's form. Writes whole lines and never moves the cursor. */
import { DownloadLines } from "./download-view.ts";
import { formatCount, formatNumber, formatSeconds } from "./number-format.ts";
import type { RunEvent, SftStep } from "../history/run-event.ts";
import type { EvaluationReport, RlStep } from "../history/run-history.ts";

/** A watcher of a run. */
export interface ProgressView {
  show(event: RunEvent): void;
  /** Restores the terminal; nothing is shown afterwards. */
  end(): void;
}

/** Supervised steps are many and short: about this many of them get a line. */
const SFT_LINES = 20;

/** `Step 12/40 | 0.41s | Reward 0.6312 | Loss ... | Entropy ... | Mismatch KL ... | Tokens/s ... | Staleness ...` */
export function stepLine(step: RlStep): string {
  return [
    `Step ${stepCount(step.step, step.maxSteps)}`,
    formatSeconds(step.seconds),
    `Reward ${rewardText(step)}`,
    `Loss ${formatNumber(step.loss)}`,
    `Entropy ${formatNumber(step.entropy)}`,
    `Mismatch KL ${formatNumber(step.mismatchKl)}`,
    `Tokens/s ${formatCount(step.tokensPerSecond)}`,
    `Staleness ${formatNumber(step.staleness, 2)}`,
  ].join(" | ");
}

/** `0.6312`, or with several sources `0.6312 (math 0.31, code 0.95)`. */
function rewardText({ reward, rewards }: RlStep): string {
  const sources = Object.entries(rewards).map(([source, value]) => `${source} ${formatNumber(value)}`);
  return formatNumber(reward) + (sources.length === 0 ? "" : ` (${sources.join(", ")})`);
}

/** `12/40`, or `12` where the number of steps is open. */
export function stepCount(step: number, maxSteps: number | null): string {
  return maxSteps === null ? String(step) : `${step}/${maxSteps}`;
}

/** `SFT step 200/4000 | Loss ... | Tokens/s ...` */
export function sftLine(step: SftStep): string {
  const validated = step.valLoss === undefined ? "" : ` | Val loss ${formatNumber(step.valLoss)}`;
  return `SFT step ${step.step}/${step.maxSteps} | Loss ${formatNumber(step.loss)}${validated} | Tokens/s ${formatCount(step.tokensPerSecond)}`;
}

/** `Evaluated reverse-text | Policy v40 | Reward 0.95 | exact_match 0.71 | 256 rollouts` */
export function evaluationLine(report: EvaluationReport): string {
  const metrics = Object.entries(report.metrics).map(([name, value]) => `${name} ${formatNumber(value)}`);
  const num = report.num === undefined ? [] : [`${formatCount(report.num)} rollouts`];
  return [
    `Evaluated ${report.source}`,
    `Policy v${report.version}`,
    `Reward ${formatNumber(report.reward)}`,
    ...metrics,
    ...num,
  ].join(" | ");
}

/** True for the supervised steps that get a line: some evenly spread ones, the last one, and those that validated. */
export function isReportedSftStep(step: SftStep): boolean {
  const every = Math.max(1, Math.ceil(step.maxSteps / SFT_LINES));
  return step.valLoss !== undefined || step.step === 1 || step.step % every === 0 || step.step === step.maxSteps;
}

export class PlainProgress implements ProgressView {
  readonly #write: (text: string) => void;
  readonly #downloads: DownloadLines;

  constructor(write: (text: string) => void) {
    this.#write = write;
    this.#downloads = new DownloadLines((line) => write(`${line}\n`));
  }

  show(event: RunEvent): void {
    if (event.type === "download") this.#downloads.show(event);
    const line = plainLine(event);
    if (line !== null) this.#write(`${line}\n`);
  }

  end(): void {}
}

/** The line for an event; null when it gets none. */
export function plainLine(event: RunEvent): string | null {
  switch (event.type) {
    case "started":
      return `Run directory ${event.runDir}`;
    case "phase":
      return `Phase: ${event.phase}`;
    case "note":
      return event.message;
    case "sft-step":
      return isReportedSftStep(event.step) ? sftLine(event.step) : null;
    case "step":
      return stepLine(event.step);
    case "download":
      return null; // `DownloadLines` decides when it deserves one.
    case "load":
      return null; // Lines report only past events.
    case "restart":
      return null; // A note reports it, with the reason.
    case "evaluation":
      return evaluationLine(event.report);
  }
}
