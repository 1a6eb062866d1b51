/** A simulated server against one that takes each decoding step by itself. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { MinHeap } from "../../../ts/simulation/min-heap.ts";
import { SimulatedServer } from "../../../ts/simulation/parts/simulated-server.ts";
import { VirtualClock } from "../../../ts/simulation/virtual-clock.ts";

const decode = (sequences: number): number => 0.5 + 0.25 * sequences;
const costs = {
  sequences: 3,
  kvTokens: 1e9,
  sharesPrompts: false,
  decode,
  prefill: (tokens: number): number => tokens * 0.125,
};

/** Ends of sequences that all arrive at 0, one step at a time. */
function stepByStep(lengths: readonly { prompt: number; completion: number }[]): number[] {
  const waiting = lengths.map((length, index) => ({ ...length, index }));
  let running: typeof waiting = [];
  const ends: number[] = [];
  let now = 0;
  while (waiting.length > 0 || running.length > 0) {
    while (waiting.length > 0 && running.length < costs.sequences) {
      const [next] = waiting.splice(0, 1);
      if (next === undefined) break;
      now += costs.prefill(next.prompt);
      running.push(next);
    }
    now += decode(running.length);
    for (const one of running) one.completion -= 1;
    for (const one of running.filter(({ completion }) => completion === 0)) ends[one.index] = now;
    running = running.filter(({ completion }) => completion > 0);
  }
  return ends;
}

/** Runs what is due, to the end. */
function finish(clock: VirtualClock): void {
  while (clock.step());
}

const lengths = fc.array(
  fc.record({ prompt: fc.integer({ min: 1, max: 20 }), completion: fc.integer({ min: 1, max: 3000 }) }),
  { minLength: 1, maxLength: 8 },
);

describe("a simulated server", () => {
  test("ends each sequence when a server that takes every step by itself does", () => {
    fc.assert(
      fc.property(lengths, (given) => {
        const clock = new VirtualClock();
        const server = new SimulatedServer(clock, costs);
        const ends: number[] = [];
        for (const [index, { prompt, completion }] of given.entries()) {
          const onEnd = () => void (ends[index] = clock.now);
          server.add({ group: String(index), promptTokens: prompt, completionTokens: completion, onEnd });
        }
        finish(clock);
        const expected = stepByStep(given);
        for (const [index, end] of ends.entries()) expect(end).toBeCloseTo(expected[index] ?? NaN, 5);
        expect(ends).toHaveLength(given.length);
      }),
    );
  });

  test("computes the prompt of a group once while one of its sequences runs, and each time without a prefix cache", () => {
    const end = (sharesPrompts: boolean): number => {
      const clock = new VirtualClock();
      const server = new SimulatedServer(clock, { ...costs, sharesPrompts });
      const onEnd = () => undefined;
      for (let i = 0; i < 3; i++) server.add({ group: "g", promptTokens: 80, completionTokens: 4, onEnd });
      finish(clock);
      return clock.now;
    };
    expect(end(true)).toBe(80 * 0.125 + 4 * decode(3));
    expect(end(false)).toBe(3 * 80 * 0.125 + 4 * decode(3));
  });

  test("pushes out the youngest sequence when its cache is full, and every sequence ends once", () => {
    fc.assert(
      fc.property(lengths, fc.integer({ min: 3020, max: 6000 }), (given, kvTokens) => {
        const clock = new VirtualClock();
        const server = new SimulatedServer(clock, { ...costs, kvTokens });
        let ended = 0;
        for (const [index, { prompt, completion }] of given.entries()) {
          const onEnd = () => void (ended += 1);
          server.add({ group: String(index), promptTokens: prompt, completionTokens: completion, onEnd });
        }
        finish(clock);
        expect(ended).toBe(given.length);
        expect(server.load()).toMatchObject({ running: 0, waiting: 0, kvUsage: 0 });
      }),
    );
    const clock = new VirtualClock();
    const server = new SimulatedServer(clock, { ...costs, kvTokens: 2500 });
    const sequence = { promptTokens: 10, completionTokens: 2000, onEnd: () => undefined };
    for (const group of ["a", "b"]) server.add({ group, ...sequence });
    finish(clock);
    expect(server.totals().preemptions).toBe(1);
  });

  test("keeps its sequences over a pause, and a sequence that is taken off does not end", () => {
    const clock = new VirtualClock();
    const server = new SimulatedServer(clock, costs);
    const ends: string[] = [];
    let last = 0;
    const add = (group: string) =>
      server.add({
        group,
        promptTokens: 8,
        completionTokens: 10,
        onEnd({ start, end }) {
          ends.push(`${group} ${start}-${end}`);
          last = clock.now;
        },
      });
    add("kept");
    const takeOff = add("cancelled");
    clock.at(3, () => server.pause());
    clock.at(103, () => {
      server.version = 1;
      server.resume();
      takeOff();
    });
    finish(clock);
    expect(ends).toEqual(["kept 0-1"]);
    const { paused, busy, sequences } = server.totals();
    expect(paused).toBe(100);
    expect(busy).toBeCloseTo(last - 100, 9);
    expect(sequences).toBeGreaterThan(busy);
  });
});

test("a heap gives the least key first, and equal keys in the order in which they came", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 })), (keys) => {
      const heap = new MinHeap<number>();
      for (const [index, key] of keys.entries()) heap.push(key, index);
      const popped = Array.from(keys, () => heap.pop());
      const expected = keys
        .map((key, index) => ({ key, index }))
        .toSorted((a, b) => a.key - b.key || a.index - b.index);
      expect(popped).toEqual(expected.map(({ index }) => index));
      expect(heap.pop()).toBeUndefined();
    }),
  );
});

test("a clock takes actions in the order of their times and stands still between them", () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  clock.at(2, () => seen.push(`b ${clock.now}`));
  clock.at(1, () => {
    seen.push(`a ${clock.now}`);
    clock.at(0, () => seen.push(`late ${clock.now}`));
  });
  expect(clock.step()).toBe(true);
  expect(seen).toEqual(["a 1", "late 1"]);
  expect([clock.step(), clock.step()]).toEqual([true, false]);
  expect(seen).toEqual(["a 1", "late 1", "b 2"]);
});
