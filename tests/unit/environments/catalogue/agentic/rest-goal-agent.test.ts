/** The server and the client of rest-goal-agent: goals are read a second way, and refused requests change nothing. */
import { describe, expect, test } from "vitest";

import { reached } from "../../../../../ts/environments/catalogue/agentic/rest-goal-agent/client.ts";
import { drawInstance } from "../../../../../ts/environments/catalogue/agentic/rest-goal-agent/generator.ts";
import {
  goalTexts,
  grade,
  passedParts,
} from "../../../../../ts/environments/catalogue/agentic/rest-goal-agent/goals.ts";
import {
  type ApiRecord,
  type Instance,
  QUIRKS,
} from "../../../../../ts/environments/catalogue/agentic/rest-goal-agent/instance.ts";
import { Server } from "../../../../../ts/environments/catalogue/agentic/rest-goal-agent/server.ts";
import { documentation } from "../../../../../ts/environments/catalogue/agentic/rest-goal-agent/wordings.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

const LEVELS = [1, 2, 3, 4, 5] as const;

function instancesOf(level: (typeof LEVELS)[number], count: number): Instance[] {
  const rng = createRng(50 + level);
  const found: Instance[] = [];
  for (let draw = 0; draw < 2_000 && found.length < count; draw++) {
    const drawn = drawInstance(rng, level);
    if (drawn !== null) found.push(drawn);
  }
  expect(found.length).toBe(count);
  return found;
}

/** Whether the sentences of the goals are true of the end, and nothing else has changed, without the solver's state. */
function isReached({ api, records, goals }: Instance, end: readonly ApiRecord[]): boolean {
  const now = new Map(end.map((one) => [one.id, one]));
  const named = (name: string): ApiRecord | undefined => end.find((one) => one.name === name);
  const [top, middle, low] = api.kinds;
  const before = (id: string | null): ApiRecord | undefined => records.find((one) => one.id === id);
  const allowed = new Map<string, Set<string>>();
  const allow = (id: string, what: string): void => void allowed.set(id, (allowed.get(id) ?? new Set()).add(what));
  let newRecords = 0;
  const isTrue = goals.every((goal) => {
    switch (goal.goal) {
      case "set": {
        const meant = records.filter(
          (one) =>
            one.level === 2 &&
            one.fields[low.choice] === goal.choice &&
            before(one.parent)?.fields[middle.choice] === goal.above,
        );
        for (const { id } of meant) allow(id, "amount");
        return meant.every(({ id }) => now.get(id)?.fields[api.amount] === goal.amount);
      }
      case "clear": {
        const above = named(goal.top)?.id;
        const gone = records.filter(
          (one) => one.level === 1 && one.parent === above && one.fields[middle.choice] === goal.choice,
        );
        const moved = records.filter(({ parent }) => gone.some(({ id }) => id === parent));
        for (const { id } of gone) allow(id, "gone");
        for (const { id } of moved) allow(id, "parent");
        return (
          gone.every(({ id }) => !now.has(id)) && moved.every(({ id }) => now.get(id)?.parent === named(goal.heir)?.id)
        );
      }
      case "found": {
        newRecords += 1;
        const made = named(goal.name);
        return made?.level === 1 && made.parent === named(goal.top)?.id && made.fields[middle.choice] === goal.choice;
      }
      case "add": {
        newRecords += 1;
        const made = named(goal.name);
        const isThere = made?.parent === named(goal.middle)?.id && made?.fields[low.choice] === goal.choice;
        return isThere && made?.fields[api.amount] === goal.amount;
      }
      case "mark": {
        const id = named(goal.top)?.id ?? "";
        allow(id, "choice");
        return now.get(id)?.fields[top.choice] === goal.choice;
      }
    }
  });
  const isElsewhereSame = records.every((one) => {
    const may = allowed.get(one.id) ?? new Set();
    const is = now.get(one.id);
    if (is === undefined) return may.has("gone");
    return (
      (may.has("parent") || is.parent === one.parent) &&
      is.locked === one.locked &&
      is.name === one.name &&
      Object.entries(one.fields).every(
        ([field, value]) =>
          is.fields[field] === value ||
          (may.has("amount") && field === api.amount) ||
          (may.has("choice") && field === top.choice),
      )
    );
  });
  return isTrue && isElsewhereSame && end.filter(({ id }) => before(id) === undefined).length === newRecords;
}

describe("the careful client", () => {
  test.each(LEVELS)("makes every sentence of the goals true at level %i, within the budget", (level) => {
    for (const instance of instancesOf(level, 12)) {
      const { server, calls } = reached(instance);
      expect(isReached(instance, server.end())).toBe(true);
      expect(new Set(Object.values(passedParts(instance, server.end())))).toEqual(new Set([1]));
      expect(calls.length).toBeLessThanOrEqual(instance.budget);
    }
  });

  test.each(LEVELS)("a neglect leaves something undone, or breaks something, at level %i", (level) => {
    for (const instance of instancesOf(level, 8))
      for (const trap of instance.traps) {
        const end = reached(instance, trap).server.end();
        expect(isReached(instance, end), trap).toBe(false);
        expect(grade(instance, end), trap).toBeLessThan(1);
      }
  });
});

test("a new record is none of those that shall not exist any more", () => {
  const both = instancesOf(5, 30).flatMap(({ goals }) => {
    const [found, clear] = (["found", "clear"] as const).map((kind) => goals.find(({ goal }) => goal === kind));
    return found?.goal === "found" && clear?.goal === "clear" ? [{ found, clear }] : [];
  });
  expect(both.length).toBeGreaterThan(0);
  for (const { found, clear } of both) expect([found.top, found.choice]).not.toEqual([clear.top, clear.choice]);
});

test("no sentence of the goals is true of a state that earns less", () => {
  // A record of which it is said that it shall not exist with a choice could as well get another choice.
  const texts = instancesOf(5, 4).flatMap((instance) => goalTexts(instance));
  expect(texts.some((text) => text.includes(" is deleted; "))).toBe(true);
  for (const text of texts) expect(text).not.toContain("any more");
});

describe("the server", () => {
  test("a request that fails changes nothing, and the budget ends all", () => {
    const [instance] = instancesOf(5, 1);
    if (instance === undefined) throw new Error("no instance");
    const server = new Server(instance);
    const before = JSON.stringify(server.end());
    const { plural } = instance.api.kinds[1];
    const id = instance.records.find(({ level }) => level === 1)?.id ?? "";
    for (const request of [
      { method: "GET", path: "/" },
      { method: "DELETE", path: `/${plural}` },
      { method: "POST", path: `/${plural}`, body: {} },
      { method: "POST", path: "/sessions", body: { key: "key-0000" } },
      { method: "PATCH", path: `/${plural}/constructor`, body: { name: "x" } },
      { method: "DELETE", path: `/${plural}/${id}`, if_version: -1, token: "none" },
      { method: "GET", path: "/jobs/none" },
      { method: "GET", path: `/${plural}?cursor=99999` },
    ] as const)
      expect(
        instance.api.quirks.includes("versions") || request.method !== "DELETE" ? server.send(request).status : 400,
      ).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify(server.end())).toBe(before);
    while (server.requests < instance.budget) server.send({ method: "GET", path: "/" });
    expect(server.send({ method: "GET", path: "/" }).status).toBe(429);
  });

  test("the documentation speaks of every property that an API can have", () => {
    const [instance] = instancesOf(1, 1);
    if (instance === undefined) throw new Error("no instance");
    const none = documentation({ ...instance, api: { ...instance.api, quirks: [] } });
    for (const quirk of QUIRKS)
      expect(documentation({ ...instance, api: { ...instance.api, quirks: [quirk] } }), quirk).not.toBe(none);
  });
});
