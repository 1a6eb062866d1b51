/** Writes figures of the bench: one line of text, and `target/prl-bench/<name>.json` for programs. */

import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";

import type { Output } from "../command.ts";

/**
 * A bound that one figure must reach; `of` is a rival of the same figure, or null for a bound in the figure's own unit. It counts only where the rival
 * is installed.
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
    const measured = figure.bars.filter(({ of }) => of === null || of in rivals);
    const bars = measured.map((bar) => ({ ...bar, ...judge(figure, bar) }));
    const verdicts = bars.map(({ text, reached }) => `${reached ? "ok" : "MISSED"}: ${text}`);
    this.#out.write(`${[`${name} ${format(ours)} ${unit}`, ...beside, ...verdicts].join(" | ")}\n`);
    if (bars.some(({ reached }) => !reached)) this.missed.push(name);
    this.figures.push(figure);
    const ratios = Object.values(rivals).map(ratioTo);
    const ratio = ratios.length === 0 ? null : Math.min(...ratios);
    const machine = { ...this.#machine, load1: loadavg()[0] };
    mkdirSync(this.#directory, { recursive: true });
    const json = JSON.stringify({ name, unit, better, ours, rivals, ratio, bars, machine }, null, 2);
    writeFileSync(join(this.#directory, `${name}.json`), `${json}\n`);
  }
}

function judge({ better, ours, rivals, unit }: Figure, { of, factor }: Bar): { text: string; reached: boolean } {
  const against = of === null ? 1 : (rivals[of] ?? Number.NaN);
  const bound = against * factor;
  const word = better === "lower" ? "at most" : "at least";
  const what = of === null ? `${format(factor)} ${unit}` : `${Number(factor.toPrecision(3))} x ${of}`;
  return { text: `${word} ${what}`, reached: better === "lower" ? ours <= bound : ours >= bound };
}

function format(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
