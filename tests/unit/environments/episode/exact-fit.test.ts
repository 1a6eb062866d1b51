import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { exactFit } from "../../../../ts/environments/episode/exact-fit.ts";
import { episodeSchema } from "../../../../ts/environments/episode/episode.ts";

const fits = exactFit(episodeSchema);

const text = fc.string({ maxLength: 5 });
const count = fc.nat();
const number = fc.double({ noNaN: true, noDefaultInfinity: true });
const scores = fc.dictionary(text, fc.record({ score: number, weight: number }), { maxKeys: 3 });
const message = fc.record(
  {
    role: fc.constantFrom("system", "user", "assistant", "tool"),
    content: text,
    reasoning_content: text,
    tool_calls: fc.array(
      fc.record({
        id: text,
        type: fc.constant("function"),
        function: fc.record({ name: text, arguments: text }),
      }),
      { maxLength: 2 },
    ),
    tool_call_id: text,
  },
  { requiredKeys: ["role", "content"] },
);
const trace = fc.record(
  {
    id: text,
    agent: text,
    trainable: fc.boolean(),
    nodes: fc.array(
      fc.record(
        { parent: fc.option(count), message, sampled: fc.boolean(), tokens: count },
        { requiredKeys: ["parent", "message", "sampled"] },
      ),
      { maxLength: 3 },
    ),
    asked: fc.oneof(
      fc.constant("varied"),
      fc.record(
        { is_text: fc.boolean(), tools: fc.array(fc.dictionary(text, fc.jsonValue())) },
        { requiredKeys: ["is_text"] },
      ),
    ),
    rewards: scores,
    reward: fc.option(number),
    metrics: fc.dictionary(text, number, { maxKeys: 3 }),
    info: fc.dictionary(text, fc.jsonValue(), { maxKeys: 2 }),
    stop_condition: fc.option(text),
    is_completed: fc.boolean(),
    is_truncated: fc.boolean(),
    usage: fc.record({ prompt_tokens: count, completion_tokens: count }),
    timing: fc.record({ start: number, generation_ms: number, scoring_ms: number, total_ms: number }),
    policy: fc.option(fc.record({ start: count, end: count })),
  },
  {
    requiredKeys: [
      "id",
      "agent",
      "trainable",
      "nodes",
      "rewards",
      "reward",
      "metrics",
      "stop_condition",
      "is_completed",
      "is_truncated",
      "usage",
      "timing",
      "policy",
    ],
  },
);
const error = fc.record({
  class: fc.constantFrom("infra", "provider", "environment", "model"),
  code: text,
  message: text,
});
/** What env workers send. */
const episodes = fc
  .record({
    id: text,
    env: fc.record({ id: text, name: text }),
    task: fc.record({ key: text, hash: text, data: fc.jsonValue() }),
    group: fc.record({ id: text }),
    run: fc.record({ type: fc.constantFrom("train", "eval"), step: count }),
    ok: fc.boolean(),
    errors: fc.array(error, { maxLength: 2 }),
    traces: fc.array(trace, { maxLength: 2 }),
  })
  .map((episode) => JSON.stringify(episode));

/** Every place of a JSON value, as the way to it. */
function places(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [[]];
  return [[], ...Object.entries(value).flatMap(([key, inner]) => places(inner).map((place) => [key, ...place]))];
}

type Damage = "replace" | "remove" | "add";

/** The value with one place of it changed. */
function damaged(json: string, at: number, how: Damage, what: unknown): unknown {
  const root = { value: JSON.parse(json) as unknown };
  const all = places(root).slice(1);
  const place = all[at % all.length] ?? ["value"];
  let owner: Record<string, unknown> = root;
  for (const key of place.slice(0, -1)) owner = owner[key] as Record<string, unknown>;
  const key = place.at(-1) ?? "value";
  const inner = owner[key];
  if (how === "remove" && Array.isArray(owner)) owner.splice(Number(key), 1);
  else if (how === "remove") delete owner[key];
  else if (how === "add" && Array.isArray(inner)) inner.push(what);
  else if (how === "add" && typeof inner === "object" && inner !== null) Object.assign(inner, { another: what });
  else owner[key] = what;
  return root.value;
}

describe("exactFit", () => {
  test("takes every episode as env workers send it", () => {
    fc.assert(
      fc.property(episodes, (json) => {
        fc.pre(!json.includes("__proto__"));
        expect(fits(JSON.parse(json))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("takes nothing that the schema would refuse or change", () => {
    const what = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(-1, 0.5, 2 ** 53, Infinity, Number.NaN));
    const how = fc.constantFrom<Damage>("replace", "remove", "add");
    let [taken, refused] = [0, 0];
    fc.assert(
      fc.property(episodes, fc.nat(), how, what, (json, at, ...damage) => {
        const value = damaged(json, at, ...damage);
        const parsed = episodeSchema.safeParse(value);
        if (!fits(value)) {
          refused++;
          return;
        }
        taken++;
        expect(parsed.success && parsed.data).toEqual(value);
      }),
      { numRuns: 2_000 },
    );
    // Both happen, and what is refused is mostly refused by zod too.
    expect(Math.min(taken, refused)).toBeGreaterThan(100);
  });

  test("leaves schemas with a default, a check or a transform to zod", () => {
    expect(exactFit(z.strictObject({ a: z.string().default("x") }))({})).toBe(false);
    expect(exactFit(z.strictObject({ a: z.string().default("x") }))({ a: "y" })).toBe(true);
    expect(exactFit(z.string().min(3))("long enough")).toBe(false);
    expect(exactFit(z.string().transform(Number))("3")).toBe(false);
    expect(exactFit(z.int().max(3))(2)).toBe(false);
    expect(exactFit(z.int().positive())(0)).toBe(false);
    expect(exactFit(z.array(z.int()).max(1))([1])).toBe(false);
    expect(exactFit(z.object({ a: z.int() }))({ a: 1 })).toBe(false);
    expect(exactFit(z.record(z.string(), z.int()))(JSON.parse('{"__proto__":1}'))).toBe(false);
  });
});
