import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeEpisode, encodeEpisode, type ReceivedEpisode } from "../../../../ts/environments/internal.ts";
import type { Episode } from "../../../../ts/environments/index.ts";

type Message = Episode["traces"][number]["nodes"][number]["message"];

function episodeOf(messages: readonly Message[]): Episode {
  return {
    id: "e-0",
    env: { id: "e", name: "e" },
    task: { key: "0", hash: "", data: {} },
    group: { id: "g" },
    run: { type: "train", step: 1 },
    ok: true,
    errors: [],
    traces: [
      {
        id: "e-0-0",
        agent: "agent",
        trainable: true,
        nodes: messages.map((message, i) => ({ parent: i === 0 ? null : i - 1, message, sampled: i > 0 })),
        rewards: {},
        reward: 1,
        metrics: {},
        stop_condition: null,
        is_completed: true,
        is_truncated: false,
        usage: { prompt_tokens: 1, completion_tokens: 1 },
        timing: { start: 0, generation_ms: 0, scoring_ms: 0, total_ms: 0 },
        policy: { start: 0, end: 0 },
      },
    ],
  };
}

function receive(messages: readonly Message[], tokens = 2): ReceivedEpisode {
  const columns = {
    tokenIds: new Uint32Array(tokens),
    mask: new Uint8Array(tokens).fill(1, 1),
    logprobs: new Float32Array(tokens),
    versionSpans: Uint32Array.of(0, 0xffffffff, 1, 0),
    branchOffsets: Uint32Array.of(0, tokens),
  };
  return decodeEpisode(encodeEpisode({ episode: episodeOf(messages), columns: [columns] }));
}

describe("long texts of a received episode", () => {
  test("read, spread and serialise as they were sent, character for character", () => {
    const long = (unit: "binary" | "grapheme") =>
      fc
        .tuple(fc.string({ unit, minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 6000 }))
        .map(([part, length]) => part.repeat(Math.ceil(length / part.length)));
    const texts = fc.oneof(long("binary"), long("grapheme"), fc.constant("\ud800".repeat(5000)), fc.string());
    fc.assert(
      fc.property(texts, texts, texts, (content, reasoning, args) => {
        const call = { id: "c", type: "function" as const, function: { name: "f", arguments: args } };
        const messages: Message[] = [
          { role: "user", content },
          { role: "assistant", content, reasoning_content: reasoning, tool_calls: [call] },
        ];
        const { episode } = receive(messages);
        const sent = JSON.parse(JSON.stringify(episodeOf(messages))) as Episode;
        expect(episode).toEqual(sent);
        expect(JSON.stringify(episode)).toBe(JSON.stringify(sent));
        const [trace] = episode.traces;
        const copies = trace?.nodes.map(({ message }) => ({ ...message }));
        expect(copies).toEqual(messages);
      }),
      { numRuns: 60 },
    );
  });

  test("a hundred rollouts of 100,000 tokens leave the JavaScript heap as it was", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const tokens = 100_000;
    // A token is some four characters of text.
    const text = Array.from({ length: tokens }, (_, t) => String((t * 7919) % 997).padStart(4, "x")).join("");
    const heap = () => {
      collect();
      return process.memoryUsage().heapUsed / 2 ** 20;
    };
    const before = heap();
    const received = Array.from({ length: 100 }, (_, i) => {
      const content = text.slice(4 * i) + text.slice(0, 4 * i);
      return receive(
        [
          { role: "user", content: "?" },
          { role: "assistant", content },
        ],
        tokens,
      );
    });
    expect(heap() - before).toBeLessThan(4);
    const held = received.map(({ episode, samples }) => [
      episode.traces[0]?.nodes[1]?.message.content.length,
      samples?.tokens,
    ]);
    expect(new Set(held.map(String))).toEqual(new Set([`${4 * tokens},${tokens}`]));
  });
});
