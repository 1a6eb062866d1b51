/** Bodies of the routes of `prl inference`: any JSON is a request, or is refused as the client's mistake. */
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { PrlError } from "../../../ts/errors.ts";
import { exactJson } from "../../../ts/exact-json.ts";
import { readMessages } from "../../../ts/inference/dialects/messages.ts";
import { readResponses } from "../../../ts/inference/dialects/responses.ts";
import { toWire } from "../../../ts/inference/errors.ts";
import { parseGenerateRequest, type RequestLimits } from "../../../ts/inference/requests/request.ts";
import { readJson } from "../../../ts/inference/requests/read-json.ts";
import { IS_LONG } from "../../support/form.ts";

const NUM_RUNS = IS_LONG ? 200_000 : 500;
const LIMITS: RequestLimits = {
  vocabSize: 100,
  maxModelLen: 16,
  servedModelNames: [],
  returnsRoutedExperts: false,
  adapters: new Set(),
};

const FIELDS = [
  "model",
  "token_ids",
  "sampling_params",
  "stream",
  "stream_options",
  "max_tokens",
  "temperature",
  "stop",
  "n",
  "logit_bias",
  "structured_outputs",
  "messages",
  "role",
  "content",
  "type",
  "text",
  "tools",
  "tool_choice",
  "input",
  "instructions",
  "system",
  "name",
  "arguments",
  "input_schema",
  "tool_use_id",
  "thinking",
  "__proto__",
  "constructor",
];
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e21,
  2 ** 53,
  12345678901234567890n,
  "",
  "m",
  "user",
  "assistant",
  "text",
  "tool_use",
  "tool_result",
  "function",
  "message",
  "\ud800",
  [],
  [1, 2],
  {},
];

const { body } = fc.letrec<{ body: unknown; value: unknown; list: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: fc.constantFrom(...VALUES) },
    { weight: 1, arbitrary: tie("list") },
    { weight: 2, arbitrary: tie("body") },
  ),
  list: fc.array(tie("value"), { maxLength: 3 }),
  body: fc.dictionary(fc.constantFrom(...FIELDS), tie("value"), { maxKeys: 8 }),
}));
const messages = fc.record(
  {
    model: fc.constant("m"),
    max_tokens: fc.constant(4),
    token_ids: fc.constant([1, 2]),
    messages: fc.array(
      fc.record({
        role: fc.constantFrom("user", "assistant", "system"),
        content: fc.oneof(fc.string(), fc.array(body)),
      }),
    ),
    input: fc.oneof(fc.string(), fc.array(body)),
    sampling_params: body,
  },
  { requiredKeys: ["model"] },
);

/** The mistake is the client's: a code of the registry, and a status below 500. */
function accepts(read: (value: unknown) => unknown, value: unknown): void {
  try {
    // The objects of a body have a prototype, those of the generator need not. Large numbers are read as the server reads them.
    read(readJson(exactJson(value)));
  } catch (error) {
    if (!(error instanceof PrlError)) throw error;
    const { status } = toWire(error);
    if (error.code !== "PRL_INFERENCE_UNSUPPORTED") expect(status).toBeLessThan(500);
  }
}

test.each([
  ["generate", (value: unknown) => parseGenerateRequest(value, LIMITS)],
  ["messages", (value: unknown) => readMessages(value, "m")],
  ["responses", (value: unknown) => readResponses(value, "m")],
])("any body of %s is a request or the client's mistake", (_, read) => {
  const property = fc.property(fc.oneof(body, messages, fc.jsonValue()), (value) => accepts(read, value));
  fc.assert(property, { numRuns: NUM_RUNS, seed: 23 });
});

test("any text is JSON or the client's mistake", () => {
  const piece = fc.oneof(
    fc.constantFrom('{"a":', "[", "]", "}", ",", '"', "\\u", "1e999", "null", "-", "\u0000", '"__proto__":{}'),
    fc.tuple(fc.constantFrom("[", '{"a":'), fc.nat(500)).map(([text, n]) => text.repeat(n)),
  );
  const property = fc.property(fc.array(piece, { maxLength: 8 }), (pieces) =>
    accepts((text) => readJson(text as string), pieces.join("")),
  );
  fc.assert(property, { numRuns: NUM_RUNS, seed: 23 });
});
