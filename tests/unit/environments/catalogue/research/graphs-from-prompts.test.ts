/** Maps, plans, logs, layers and causes, read from their prompts: what they say is all that is used. */
import { expect, test } from "vitest";

import { overwrittenKeys } from "../../../../../ts/environments/catalogue/research/collections/overwritten-keys.ts";
import { compelledArrows } from "../../../../../ts/environments/catalogue/research/reanalysis/compelled-arrows.ts";
import { excavationSequence } from "../../../../../ts/environments/catalogue/research/reanalysis/excavation-sequence.ts";
import { scaleMapReading } from "../../../../../ts/environments/catalogue/research/tables/scale-map-reading.ts";
import { scheduleSlackReading } from "../../../../../ts/environments/catalogue/research/tables/schedule-slack-reading.ts";
import { expectRight, fields, first, found, posed } from "../../../../support/catalogue/posed.ts";

type Arrow = readonly [from: string, to: string];

/** Those from which arrows lead to some of the nodes, and the nodes themselves. */
function ancestors(arrows: readonly Arrow[], nodes: readonly string[]): Set<string> {
  const all = new Set(nodes);
  for (const node of all) for (const [from, to] of arrows) if (to === node) all.add(from);
  return all;
}

/** By the moral graph: among ancestors, parents of one child are linked, arrows lose their heads, and no way avoids the given nodes. */
function areSeparated(arrows: readonly Arrow[], a: string, b: string, given: readonly string[]): boolean {
  const kept = ancestors(arrows, [a, b, ...given]);
  const own = arrows.filter(([, to]) => kept.has(to));
  const wedded = own.flatMap(([from, to]) =>
    own.flatMap(([other, child]): Arrow[] => (child === to ? [[from, other]] : [])),
  );
  const links = [...own, ...wedded];
  const reached = new Set([a]);
  for (const node of reached)
    for (const [from, to] of links)
      for (const [here, there] of [
        [from, to],
        [to, from],
      ] as const)
        if (here === node && !given.includes(there)) reached.add(there);
  return !reached.has(b);
}

test("compelled-arrows: all directions are tried, and each stated independence is looked up in the moral graph", () => {
  for (const one of posed(compelledArrows, [1, 2, 3])) {
    const links = found(one.prompt, /^L\d+: (V\d+) and (V\d+) are dependent given any set of the others\.$/);
    const findings = found(
      one.prompt,
      /^(V\d+) and (V\d+) are independent (?:when nothing is given|given (.*))\.$/,
    ).map(([a = "", b = "", given = ""]) => ({ a, b, given: found(given, /(V\d+)/).map(([name = ""]) => name) }));
    const nodes = new Set(found(one.prompt, /\b(V\d+)\b/).flat()).size;
    expect(findings).toHaveLength((nodes * (nodes - 1)) / 2 - links.length);
    const forward = links.map(() => 0);
    let graphs = 0;
    for (let choice = 0; choice < 2 ** links.length; choice++) {
      const arrows = links.map(([a = "", b = ""], at): Arrow => ((choice >> at) & 1 ? [a, b] : [b, a]));
      const isCyclic = arrows.some(([from, to]) => ancestors(arrows, [from]).has(to));
      if (isCyclic || !findings.every(({ a, b, given }) => areSeparated(arrows, a, b, given))) continue;
      graphs += 1;
      for (const at of links.keys()) forward[at] = (forward[at] ?? 0) + ((choice >> at) & 1);
    }
    expect(graphs, one.prompt).toBeGreaterThan(0);
    const verdicts = forward.map((times) => (times === graphs ? "forward" : times === 0 ? "backward" : "open"));
    expectRight(one, fields(verdicts.map((verdict, at) => [`L${at + 1}`, verdict] as const)));
  }
});

test("excavation-sequence: bounds are tightened until no sentence moves one", () => {
  for (const one of posed(excavationSequence)) {
    const order = found(one.prompt, /^(L\d+) (?:lies over|cuts|fills) (L\d+)\.$/);
    const layers = Array.from(
      { length: Math.max(...found(one.prompt, /\bL(\d+)\b/).map(([number]) => Number(number))) },
      (_, index) => `L${index + 1}`,
    );
    const from = new Map(layers.map((layer) => [layer, -Infinity]));
    const to = new Map(layers.map((layer) => [layer, Infinity]));
    let moves = 0;
    const atLeast = (layer: string, year: number): void => {
      if (year > (from.get(layer) ?? 0)) moves += from.set(layer, year).size;
    };
    const atMost = (layer: string, year: number): void => {
      if (year < (to.get(layer) ?? 0)) moves += to.set(layer, year).size;
    };
    for (const [layer = "", year] of found(one.prompt, /^In (L\d+) was a coin of (\d+)\.$/))
      atLeast(layer, Number(year));
    for (const [layer = "", year] of found(one.prompt, /^(L\d+) is dated before (\d+)\.$/))
      atMost(layer, Number(year) - 1);
    for (let before = -1; before < moves;) {
      before = moves;
      for (const [later = "", earlier = ""] of order) {
        atLeast(later, (from.get(earlier) ?? 0) + 1);
        atMost(earlier, (to.get(later) ?? 0) - 1);
      }
    }
    const shown = (year = Infinity): string => (Number.isFinite(year) ? String(year) : "none");
    expectRight(
      one,
      fields(layers.map((layer) => [layer, `${shown(from.get(layer))}/${shown(to.get(layer))}`] as const)),
    );
  }
});

test("scale-map-reading: a wave goes over the map, and a lake loses a square at a time", () => {
  for (const one of posed(scaleMapReading)) {
    const legend = first(one.prompt, /"(.)" is water, "(.)" is cliff, "(.)" is open land/);
    const [water = "", cliff = ""] = legend;
    const [metres] = first(one.prompt, /a square of (\d+) m by \1 m/);
    const isRow = (line: string): boolean => line.split("").every((mark) => [...legend, "A", "B"].includes(mark));
    const map = one.prompt.split("\n").filter((line) => line !== "" && isRow(line));
    expect(new Set(map.map(({ length }) => length))).toEqual(new Set([map.length]));
    const squares = new Map(map.flatMap((row, y) => row.split("").map((mark, x) => [String([x, y]), mark] as const)));
    const beside = (square: string): string[] => {
      const [x = 0, y = 0] = square.split(",").map(Number);
      return [
        [x + 1, y],
        [x - 1, y],
        [x, y + 1],
        [x, y - 1],
      ]
        .map(String)
        .filter((other) => squares.has(other));
    };
    let wave = [...squares].filter(([, mark]) => mark === "A").map(([square]) => square);
    const seen = new Set(wave);
    let steps = 0;
    while (!wave.some((square) => squares.get(square) === "B") && wave.length > 0) {
      const isFresh = (square: string): boolean =>
        !seen.has(square) && ![water, cliff].includes(squares.get(square) ?? "");
      wave = [...new Set(wave.flatMap(beside).filter(isFresh))];
      for (const square of wave) seen.add(square);
      steps += 1;
    }
    const wet = new Set([...squares].filter(([, mark]) => mark === water).map(([square]) => square));
    const drained = (square: string): { area: number; shore: number } => {
      wet.delete(square);
      const lake = { area: 1, shore: beside(square).filter((other) => squares.get(other) !== water).length };
      for (const other of beside(square)) {
        if (!wet.has(other)) continue;
        const rest = drained(other);
        lake.area += rest.area;
        lake.shore += rest.shore;
      }
      return lake;
    };
    const lakes: { area: number; shore: number }[] = [];
    for (const square of wet) lakes.push(drained(square));
    const [largest = { area: 0, shore: 0 }, second] = lakes.toSorted((a, b) => b.area - a.area);
    expect(largest.area, one.prompt).toBeGreaterThan(second?.area ?? 0);
    const side = Number(metres);
    expectRight(
      one,
      fields([
        ["route", steps * side],
        ["lake", largest.area * side * side],
        ["shore", largest.shore * side],
      ]),
    );
  }
});

test("schedule-slack-reading: the project is run day by day, and once more for each job that is a day late", () => {
  for (const one of posed(scheduleSlackReading)) {
    const jobs = found(
      one.prompt,
      /^- (\w) takes (\d+) days (?:and needs nothing|and can begin when (.*) (?:is|are) done)$/,
    ).map(([name = "", days, after = ""]) => ({
      name,
      days: Number(days),
      after: found(after, /\b([A-Z])\b(?: \(and then (\d+) more days of waiting\))?/).map(([job = "", wait]) => ({
        job,
        wait: Number(wait),
      })),
    }));
    // The sentences that make the plan the one of the critical path.
    expect(one.prompt).toMatch(
      /Any number of jobs can go on at the same time, and every job starts as soon as it may/u,
    );
    const length = (lateJob: string, more: number): number => {
      const ends = new Map<string, number>();
      for (let day = 0; ends.size < jobs.length; day++)
        for (const { name, days, after } of jobs)
          if (!ends.has(name) && after.every(({ job, wait }) => (ends.get(job) ?? Infinity) + wait <= day))
            ends.set(name, day + days + (name === lateJob ? more : 0));
      return Math.max(...ends.values());
    };
    const end = length("", 0);
    const [loose = ""] = first(one.prompt, /by how many days (\w) alone can be late/);
    const [late = "", delay] = first(one.prompt, /if (\w) takes (\d+) days more than planned/);
    let slack = 0;
    while (length(loose, slack + 1) === end) slack += 1;
    const critical = jobs.map(({ name }) => name).filter((name) => length(name, 1) > end);
    expectRight(
      one,
      fields([
        ["end", end],
        ["critical", critical.join(", ")],
        ["slack", slack],
        ["late", length(late, Number(delay))],
      ]),
    );
  }
});

test("overwritten-keys: every line makes a new list of pairs", () => {
  for (const one of posed(overwrittenKeys)) {
    type Store = readonly (readonly [key: string, value: string])[];
    const value = (store: Store, key: string): string | undefined => store.find(([own]) => own === key)?.[1];
    const without = (store: Store, ...keys: string[]): Store => store.filter(([own]) => !keys.includes(own));
    let store: Store = [];
    const saved: { name: string; store: Store }[] = [];
    for (const [command = "", a = "", b = ""] of found(one.prompt, /^([A-Z]+) ([a-z]+)(?: ([a-z]+))?$/)) {
      const [own, other] = [value(store, a), value(store, b)];
      if (command === "SET") store = [...without(store, a), [a, b]];
      else if (command === "DELETE") store = without(store, a);
      else if (command === "SAVE") saved.unshift({ name: a, store });
      else if (command === "RESTORE") {
        const kept = saved.find(({ name }) => name === a);
        // No line brings back what was never saved.
        expect(kept, one.prompt).toBeDefined();
        store = kept?.store ?? [];
      } else if (own !== undefined && command === "COPY") store = [...without(store, b), [b, own]];
      else if (own !== undefined && command === "RENAME") store = [...without(store, a, b), [b, own]];
      else if (own !== undefined && other !== undefined && command === "SWAP")
        store = [...without(store, a, b), [a, other], [b, own]];
      else expect(["COPY", "RENAME", "SWAP"]).toContain(command);
    }
    const [asked = ""] = first(
      one.prompt,
      /(?:the values of|the last state of|Keys:|Find out what) ([a-z, ]+?)(?: at the end\?| hold now|\.)/,
    );
    expectRight(one, fields(asked.split(", ").map((key) => [key, value(store, key) ?? "missing"] as const)));
  }
});
