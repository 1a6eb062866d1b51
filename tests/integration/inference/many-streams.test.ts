/** Many clients that stream at the same time: each gets the tokens of its whole answer once, in order. 256 with PRL_TEST_LONG. */
import { setTimeout as pause } from "node:timers/promises";

import { expect, it } from "vitest";

import { useServing } from "./serving.ts";
import { IS_LONG } from "../../support/form.ts";

const serving = useServing();

const CLIENTS = IS_LONG ? 256 : 32;
const TOKENS = IS_LONG ? 96 : 24;
/** A client that reads slowly waits this long before each piece. */
const SLOW_MS = 5;
const DEADLINE_MS = 120_000;

interface Choice {
  text: string;
  tokenIds: number[];
  logprobs: number[];
  finishReason: string | null;
  stopReason: unknown;
}
interface WireChoice {
  index: number;
  text: string;
  token_ids: number[] | null;
  logprobs: { token_logprobs: number[] } | null;
  finish_reason: string | null;
  stop_reason?: unknown;
}
interface Wire {
  choices: WireChoice[];
  usage?: { completion_tokens: number } | null;
}

const fields = (client: number): object[] => [
  { ignore_eos: true },
  { n: 3, ignore_eos: true },
  { stop: ["e", "qq"] },
  { structured_outputs: { regex: "[a-z ]{4,40}" } },
  { structured_outputs: { grammar: 'root ::= "(" root ")" | [0-9]+ "."' }, temperature: 1.2 },
  { logit_bias: { 104: 3 }, repetition_penalty: 1.1 },
  { temperature: 0, min_tokens: client % 7 },
];

/** Different prompts, of which some begin alike. */
function bodyOf(client: number): object {
  const kinds = fields(client);
  return {
    model: "tiny",
    prompt: `client ${client % 5} ${"x".repeat(client % 11)}`,
    max_tokens: TOKENS + (client % 3),
    seed: client,
    logprobs: 1,
    return_token_ids: true,
    ...kinds[client % kinds.length],
  };
}

async function open(body: object, signal: AbortSignal): Promise<Response> {
  const response = await fetch(`${serving().url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

function grown(choices: Choice[], { choices: wire }: Wire): void {
  for (const { index, text, token_ids: ids, logprobs, finish_reason: finish, stop_reason: stop } of wire) {
    const choice = (choices[index] ??= { text: "", tokenIds: [], logprobs: [], finishReason: null, stopReason: null });
    expect(choice.finishReason).toBeNull();
    choice.text += text;
    choice.tokenIds.push(...(ids ?? []));
    choice.logprobs.push(...(logprobs?.token_logprobs ?? []));
    choice.finishReason = finish;
    choice.stopReason = stop ?? null;
  }
}

async function whole(client: number, signal: AbortSignal): Promise<Choice[]> {
  const choices: Choice[] = [];
  grown(choices, (await (await open(bodyOf(client), signal)).json()) as Wire);
  return choices;
}

/** The choices and the usage, put together from the events. `leavesAfter`: closes the connection behind so many events. */
async function streamed(client: number, signal: AbortSignal, leavesAfter = Infinity): Promise<Choice[]> {
  const body = { ...bodyOf(client), stream: true, stream_options: { include_usage: true } };
  const response = await open(body, signal);
  const choices: Choice[] = [];
  let [rest, events, used] = ["", 0, 0];
  const decoder = new TextDecoder();
  for await (const piece of response.body ?? expect.fail("no body")) {
    if (client % 4 === 1) await pause(SLOW_MS);
    const parts = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      events += 1;
      if (part === "data: [DONE]") {
        expect(choices.map(({ tokenIds }) => tokenIds.length).reduce((sum, one) => sum + one, 0)).toBe(used);
        return choices;
      }
      const chunk = JSON.parse(part.slice("data: ".length)) as Wire;
      used = chunk.usage?.completion_tokens ?? used;
      grown(choices, chunk);
    }
    // Leaving the loop closes the connection.
    if (events >= leavesAfter) return choices;
  }
  throw new Error(`the stream of client ${client} ended without [DONE]`);
}

it(
  `${CLIENTS} clients stream at the same time, and no token is lost or doubled`,
  { timeout: DEADLINE_MS },
  async () => {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const clients = Array.from({ length: CLIENTS }, (_, client) => client);
    const leaving = clients.filter((client) => client % 8 === 7);
    const [streams] = await Promise.all([
      Promise.all(clients.map((client) => streamed(client, signal))),
      // Others leave in the middle, which must not change anything for those who stay.
      ...leaving.map((client) => streamed(client, signal, 2)),
    ]);
    for (const client of clients) {
      const expected = await whole(client, signal);
      expect(streams[client], `client ${client}`).toEqual(expected);
      expect(expected.every(({ tokenIds }) => tokenIds.length > 0)).toBe(true);
    }
    await serving().untilStats(({ running, waiting }) => running === 0 && waiting === 0);
  },
);
