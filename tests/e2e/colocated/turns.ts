/** The turns of a run on one GPU, as its events tell them. */
import { join } from "node:path";

import { readJsonLines } from "../../support/prl.ts";

interface Event {
  type: string;
  time: number;
  turn?: "start" | "trainer" | "servers";
  step?: number;
  seconds?: number;
  attempt: number;
}

/** From when to when, in seconds since 1970. */
export interface Span {
  step: number;
  from: number;
  to: number;
}

export interface Turns {
  /** The trainer's turns but the first, in which it loads its model. */
  trainer: Span[];
  /** When it computed. */
  steps: Span[];
}

/** Errors when two turns of one side follow each other within an attempt. */
export async function turnsOf(runDir: string): Promise<Turns> {
  const events = (await readJsonLines<Event>(join(runDir, "events.jsonl"))).filter(({ type }) =>
    type.startsWith("gpu_"),
  );
  const given = events.filter(({ type }) => type === "gpu_turn");
  const trainer: Span[] = [];
  for (const [index, { turn, time, step = -1, attempt }] of given.entries()) {
    const next = given[index + 1];
    if (next !== undefined && next.attempt === attempt && (turn === "servers") === (next.turn === "servers"))
      throw new Error(`turn ${index} and the next one are both those of the ${turn}`);
    if (turn === "trainer") trainer.push({ step, from: time, to: next?.time ?? Infinity });
  }
  const steps = events.filter(({ type }) => type === "gpu_step");
  return {
    trainer,
    steps: steps.map(({ step = -1, time, seconds = 0 }) => ({ step, from: time - seconds, to: time })),
  };
}

/** The spans that do not lie within one of `all`, which two clocks of one machine may bring apart by `slack`. */
export function outside(spans: readonly Span[], all: readonly Span[], slack = 0.005): Span[] {
  return spans.filter(({ from, to }) => !all.some((one) => one.from - slack <= from && to <= one.to + slack));
}
