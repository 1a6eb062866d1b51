/** Timing of contenders side by side. This file knows nothing of sandboxes. */

/** One way to do the same thing; `run` rejects when the outcome is not exactly the expected one. */
export interface Contender {
  readonly name: string;
  /** Takes part only in one of this many rounds (1): a slow contender would otherwise take most of the time, and the others' caches. */
  readonly every?: number;
  run(): Promise<void>;
}

/**
 * Milliseconds of every sample of every contender, taken one at a time and in turn, each round beginning with another contender, so that
 * a slow moment of the machine affects all of them alike; every second round goes backwards, so that no contender always follows the same one. The
 * first round is a warm-up and is not kept.
 */
export async function interleaved(
  contenders: readonly Contender[],
  rounds: number,
  signal: AbortSignal,
): Promise<Map<string, number[]>> {
  const samples = new Map(contenders.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round <= rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      signal.throwIfAborted();
      const place = (round + (round % 2 === 0 ? turn : contenders.length - turn)) % contenders.length;
      const contender = contenders[place];
      if (contender === undefined || round % Math.min(contender.every ?? 1, rounds) !== 0) continue;
      const startedAt = performance.now();
      await contender.run();
      if (round > 0) samples.get(contender.name)?.push(performance.now() - startedAt);
    }
  }
  return samples;
}

/** Milliseconds of each of `count` runs, `atOnce` at a time, and of all of them together. */
export async function burst(
  run: (index: number) => Promise<void>,
  count: number,
  atOnce: number,
  signal: AbortSignal,
): Promise<{ wallMs: number; samples: number[] }> {
  const samples: number[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      signal.throwIfAborted();
      const began = performance.now();
      await run(next++);
      samples.push(performance.now() - began);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
  return { wallMs: performance.now() - startedAt, samples };
}

/** The sample below which `percent` of them lie; with few samples the 99th is the largest. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const index = Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100));
  return sorted[index] ?? Number.NaN;
}
