/**
 * Progress on a terminal: a block of a few lines that is redrawn in place, below the lines that stay (notes, evaluations).
 *
 * The block never grows wider than the terminal, so that it never wraps and the cursor's way back up is known. Drawing is limited to
 * some ten times a second; the last state is always drawn. `liveBlock` is the pure part.
 */
import { styleText } from "node:util";

import { formatCount, formatNumber, formatSeconds } from "./number-format.ts";
import { evaluationLine, type ProgressView, stepCount } from "./plain-progress.ts";
import type { RunEvent, RunPhase, SftStep } from "./run-event.ts";
import type { RlStep } from "./run-history.ts";
import { bar, sparkline } from "./sparkline.ts";

const REDRAW_INTERVAL_MS = 100;
const MAX_BAR_COLUMNS = 40;
const LABEL_COLUMNS = 9;
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const CLEAR_TO_END = "\u001b[0J";

type Style = Parameters<typeof styleText>[0];

/** What the block shows. */
export interface LiveState {
  title: string;
  phase: RunPhase;
  /** Null: until interrupted. */
  maxSteps: number | null;
  steps: readonly RlStep[];
  sft: SftStep | undefined;
  /** Seconds since the run began. */
  elapsed: number;
}

export interface LiveTerminal {
  write(text: string): unknown;
  columns: number;
  /** False: no colours (NO_COLOR). */
  colour: boolean;
}

/** The block's lines, none wider than `columns` (escape sequences apart). */
export function liveBlock(state: LiveState, columns: number, colour: boolean): string[] {
  const paint = (style: Style, text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  const label = (text: string): string => paint("dim", text.padEnd(LABEL_COLUMNS));
  const width = Math.max(10, Math.min(MAX_BAR_COLUMNS, columns - LABEL_COLUMNS - 30));
  const fit = (plain: string, painted: string): string => (plain.length <= columns ? painted : plain.slice(0, columns));
  const lines: string[] = [];
  const push = (name: string, parts: readonly [string, Style | null][]): void => {
    const plain = name.padEnd(LABEL_COLUMNS) + parts.map(([text]) => text).join("");
    const painted = label(name) + parts.map(([text, style]) => (style === null ? text : paint(style, text))).join("");
    lines.push(fit(plain, painted));
  };

  push(state.phase === "warm start" ? "SFT" : "RL", [
    [state.title, "bold"],
    [`  ${state.phase}`, "cyan"],
    [`  ${formatSeconds(state.elapsed)}`, "dim"],
  ]);
  if (state.phase === "warm start" && state.sft !== undefined) {
    const { step, maxSteps, loss, tokensPerSecond } = state.sft;
    push("Step", [
      [`${step}/${maxSteps} `.padStart(12), null],
      [bar(step / maxSteps, width), "green"],
    ]);
    push("Loss", [
      [formatNumber(loss), null],
      [`   Tokens/s ${formatCount(tokensPerSecond)}`, null],
    ]);
    return lines;
  }
  const last = state.steps.at(-1);
  const done = last?.step ?? 0;
  push("Step", [
    [`${stepCount(done, state.maxSteps)} `.padStart(12), null],
    [state.maxSteps === null ? "" : bar(done / state.maxSteps, width), "green"],
    [last === undefined ? "" : ` ${formatSeconds(last.seconds)}/step`, "dim"],
  ]);
  if (last === undefined) return lines;
  const rewards = state.steps.map((step) => step.reward ?? NaN);
  push("Reward", [
    [formatNumber(last.reward).padStart(11), "bold"],
    [` ${sparkline(rewards, width)}`, "yellow"],
  ]);
  push("Policy", [
    [
      `Loss ${formatNumber(last.loss)}  Entropy ${formatNumber(last.entropy)}  Mismatch KL ${formatNumber(last.mismatchKl)}`,
      null,
    ],
  ]);
  push("Speed", [
    [`Tokens/s ${formatCount(last.tokensPerSecond)}  Staleness ${formatNumber(last.staleness, 2)}`, null],
    [last.maxStaleness === undefined ? "" : ` (max ${formatNumber(last.maxStaleness, 0)})`, "dim"],
  ]);
  return lines;
}

export class LiveProgress implements ProgressView {
  readonly #terminal: LiveTerminal;
  readonly #started = performance.now();
  readonly #steps: RlStep[] = [];
  #state: Omit<LiveState, "steps" | "elapsed">;
  #drawnLines = 0;
  #drawnAt = -Infinity;
  #ended = false;
  readonly #ticker: NodeJS.Timeout;

  constructor(terminal: LiveTerminal, title: string) {
    this.#terminal = terminal;
    this.#state = { title, phase: "starting", maxSteps: null, sft: undefined };
    this.#ticker = setInterval(() => this.#draw(false), REDRAW_INTERVAL_MS * 10);
    this.#ticker.unref();
    terminal.write(HIDE_CURSOR);
  }

  show(event: RunEvent): void {
    if (this.#ended) return;
    switch (event.type) {
      case "started":
        this.#state.maxSteps = event.maxSteps;
        this.#keep(`Run directory ${event.runDir}`);
        break;
      case "phase":
        this.#state.phase = event.phase;
        this.#draw(true);
        break;
      case "note":
        this.#keep(event.message);
        break;
      case "sft-step":
        this.#state.sft = event.step;
        this.#draw(false);
        break;
      case "step":
        this.#steps.push(event.step);
        this.#draw(event.step.step === event.step.maxSteps);
        break;
      case "evaluation":
        this.#keep(evaluationLine(event.report));
        break;
    }
  }

  end(): void {
    if (this.#ended) return;
    this.#draw(true);
    this.#ended = true;
    clearInterval(this.#ticker);
    this.#terminal.write(SHOW_CURSOR);
  }

  /** Writes a line that stays, above the block. */
  #keep(line: string): void {
    this.#terminal.write(`${this.#eraser()}${line}\n`);
    this.#drawnLines = 0;
    this.#draw(true);
  }

  #draw(always: boolean): void {
    const now = performance.now();
    if (this.#ended || (!always && now - this.#drawnAt < REDRAW_INTERVAL_MS)) return;
    const state: LiveState = { ...this.#state, steps: this.#steps, elapsed: (now - this.#started) / 1000 };
    const lines = liveBlock(state, this.#terminal.columns, this.#terminal.colour);
    this.#terminal.write(`${this.#eraser()}${lines.join("\n")}\n`);
    this.#drawnLines = lines.length;
    this.#drawnAt = now;
  }

  #eraser(): string {
    return this.#drawnLines === 0 ? "" : `\u001b[${this.#drawnLines}A\r${CLEAR_TO_END}`;
  }
}
