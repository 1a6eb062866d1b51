/** What is in force in priority-stack, found a second way, and lists read back. */
import { describe, expect, test } from "vitest";

import {
  choiceBy,
  drawInstance,
  type Instance,
  READERS,
} from "../../../../../ts/environments/catalogue/instructions/priority-stack/generator.ts";
import { priorityStack } from "../../../../../ts/environments/catalogue/instructions/priority-stack/index.ts";
import type { Stack } from "../../../../../ts/environments/catalogue/instructions/priority-stack/resolver.ts";
import {
  rendered,
  type Setting,
  SETTINGS,
  settingsOf,
  VALUES,
} from "../../../../../ts/environments/catalogue/instructions/priority-stack/settings.ts";
import { at, range } from "../../../../../ts/environments/catalogue/lists.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

const LEVELS = [1, 2, 3, 4, 5] as const;

function instancesOf(level: (typeof LEVELS)[number], count: number): Instance[] {
  const rng = createRng(20 + level);
  const found: Instance[] = [];
  for (let draw = 0; draw < 20_000 && found.length < count; draw++) {
    const drawn = drawInstance(rng, level);
    if (drawn !== null) found.push(drawn);
  }
  expect(found.length).toBe(count);
  return found;
}

/** Backwards from the last message: which of an author's messages on a point is in force, and what it says. */
function inForce({ authors, barred, messages, defaults, size }: Stack, setting: Setting): number {
  const last = (author: number): { value: number } | { to: number } | null => {
    const own = messages.filter((one) => one.author === author && one.setting === setting && one.kind !== "hearsay");
    const closed = own.findIndex(({ kind }) => kind === "close");
    for (const one of own.slice(0, closed === -1 ? own.length : closed).toReversed()) {
      if (one.kind === "withdraw") return null;
      if (one.kind === "delegate") return { to: one.to };
      if (one.kind !== "set") continue;
      if (one.when === null) return { value: one.value };
      const isMet = one.when.more ? size > one.when.than : size <= one.when.than;
      if (isMet) return { value: one.value };
    }
    return null;
  };
  const values = range(authors.length).flatMap((author): number[] => {
    if (at(barred, author).includes(setting)) return [];
    const word = last(author);
    if (word === null) return [];
    if ("value" in word) return [word.value];
    const other = last(word.to);
    return other !== null && "value" in other ? [other.value] : [];
  });
  return values[0] ?? defaults[setting];
}

describe("the effective form", () => {
  test.each(LEVELS)("is that of a second reading at level %i", (level) => {
    for (const { stack } of instancesOf(level, 40))
      for (const setting of SETTINGS) expect(choiceBy(stack)[setting]).toBe(inForce(stack, setting));
  });

  test("each rule matters in some instance", () => {
    const drawn = instancesOf(5, 20);
    for (const [name, reader] of Object.entries(READERS))
      expect(
        drawn.filter(
          ({ stack, entries }) => rendered(entries, choiceBy(stack, reader)) !== rendered(entries, choiceBy(stack)),
        ).length,
        name,
      ).toBeGreaterThan(2);
  });
});

describe("lists", () => {
  test("are read back with the settings that made them", () => {
    const rng = createRng(4);
    const [{ entries } = { entries: [] }] = instancesOf(3, 1);
    for (let draw = 0; draw < 300; draw++) {
      const choice = Object.fromEntries(SETTINGS.map((one) => [one, rng.integer(VALUES[one].length)])) as ReturnType<
        typeof choiceBy
      >;
      expect(settingsOf(entries, rendered(entries, choice))).toContainEqual(choice);
    }
    expect(settingsOf(entries, "")).toEqual([]);
    expect(settingsOf(entries, entries.map(({ name }) => name).join(", "))).toEqual([]);
  });

  test("one wrong point costs, a list of something else earns nothing", () => {
    const [row] = priorityStack.rows;
    let both = 0;
    for (const instance of instancesOf(4, 10)) {
      const gold = choiceBy(instance.stack);
      const [setting] = instance.spoken;
      if (row === undefined || setting === undefined) throw new Error("no row");
      const wrong = rendered(instance.entries, { ...gold, [setting]: (gold[setting] + 1) % VALUES[setting].length });
      const earned = row.score(instance, wrong);
      expect(earned).toBeGreaterThan(0);
      const others = instance.entries.map((one) => ({ ...one, name: `${one.name}x` }));
      expect(row.score(instance, rendered(others, gold))).toBe(0);
      expect(earned).toBeLessThan(1);
      // A point without a message counts as one with messages: right points never earn less than wrong ones.
      const silent = SETTINGS.find(
        (one) =>
          !instance.spoken.includes(one) &&
          rendered(instance.entries, { ...gold, [one]: (gold[one] + 1) % VALUES[one].length }) !==
            rendered(instance.entries, gold),
      );
      if (silent === undefined) continue;
      const other = { ...gold, [silent]: (gold[silent] + 1) % VALUES[silent].length };
      expect(row.score(instance, rendered(instance.entries, other))).toBeCloseTo(earned);
      both += 1;
    }
    expect(both).toBeGreaterThan(0);
  });
});
