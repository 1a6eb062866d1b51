/** Writes figures of the bench: one line of text, and `target/prl-bench/<name>.json` for programs. */

import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";

import type { Output } from "../command.ts";

/**
 * A bound that one figure must reach; `of` is a rival of the same figure, or null for a bound in the figure's own unit. It is judged only where
 * the rival was measured: some are not installed everywhere.
 */
export interface Bar {
  readonly of: string | null;
  /** Ours may be at most this many times the rival's (lower is better), or must be at least this many times (higher is better). */
  readonly factor: number;
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly better: "lower" | "higher";
  readonly ours: number;
  readonly rivals: Readonly<Record<string, number>>;
  readonly bars: readonly Bar[];
}

export class Report {
  readonly #out: Output;
  readonly #directory: string;
  readonly #machine: Readonly<Record<string, unknown>>;
  /** Figures that did not reach one of their bars. */
  readonly missed: string[] = [];
  readonly figures: Figure[] = [];

  constructor(out: Output, directory: string, machine: Readonly<Record<string, unknown>>) {
    this.#out = out;
    this.#directory = directory;
    this.#machine = machine;
  }

  /** Prints a line between the figures. */
  note(text: string): void {
    this.#out.write(`${text}\n`);
  }

  /** Prints and writes a figure. `ratio`, to the best rival, is above 1 where ours is better. */
  add(figure: Figure): void {
    const { name, unit, better, ours, rivals } = figure;
    const ratioTo = (value: number): number => (better === "lower" ? value / ours : ours / value);
    const beside = Object.entries(rivals).map(
      ([rival, value]) => `${rival} ${format(value)} (${ratioTo(value).toFixed(2)}x)`,
    );
    const bars = figure.bars.map((bar) => ({ ...bar, ...judge(figure, bar) }));
    const verdicts = bars.map(({ text, reached }) => `${verdictOf(reached)}: ${text}`);
    this.#out.write(`${[`${name} ${format(ours)} ${unit}`, ...beside, ...verdicts].join(" | ")}\n`);
    if (bars.some(({ reached }) => reached === false)) this.missed.push(name);
    this.figures.push(figure);
    const ratios = Object.values(rivals).map(ratioTo);
    const ratio = ratios.length === 0 ? null : Math.min(...ratios);
    const machine = { ...this.#machine, load1: loadavg()[0] };
    mkdirSync(this.#directory, { recursive: true });
    const json = JSON.stringify({ name, unit, better, ours, rivals, ratio, bars, machine }, null, 2);
    writeFileSync(join(this.#directory, `${name}.json`), `${json}\n`);
  }
}

/** `reached` is null where the rival was not measured. */
function judge({ better, ours, rivals, unit }: Figure, { of, factor }: Bar): { text: string; reached: boolean | null } {
  const against = of === null ? 1 : rivals[of];
  const word = better === "lower" ? "at most" : "at least";
  const what = of === null ? `${format(factor)} ${unit}` : `${Number(factor.toPrecision(3))} x ${of}`;
  if (against === undefined) return { text: `${word} ${what}`, reached: null };
  const bound = against * factor;
  return { text: `${word} ${what}`, reached: better === "lower" ? ours <= bound : ours >= bound };
}

function verdictOf(reached: boolean | null): string {
  if (reached === null) return "not judged";
  return reached ? "ok" : "MISSED";
}

function format(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
