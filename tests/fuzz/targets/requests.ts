/** Bodies of requests that agents and clients send, in each dialect. */
import { chatCompletions, type Dialect, messages, responses } from "../../../ts/dialects/index.ts";
import { exactJson, parseExact } from "../../../ts/exact-json.ts";
import { readMessages } from "../../../ts/inference/dialects/messages.ts";
import { readResponses } from "../../../ts/inference/dialects/responses.ts";
import { parseGenerateRequest } from "../../../ts/inference/requests/request.ts";
import { readJson } from "../../../ts/inference/requests/read-json.ts";
import { holds, type Target, textOf } from "../engine/target.ts";

const LIMITS = {
  vocabSize: 100,
  maxModelLen: 64,
  servedModelNames: [],
  returnsRoutedExperts: false,
  adapters: new Set<string>(),
};
const JSON_WORDS = [
  '"',
  ":",
  ",",
  "{",
  "}",
  "[",
  "]",
  "null",
  "true",
  "-1",
  "1e999",
  '"__proto__":',
  "\\ud800",
  "9007199254740993",
];
const WORDS = [
  ...JSON_WORDS,
  '"messages":[',
  '"role":"user"',
  '"role":"assistant"',
  '"role":"tool"',
  '"content":',
  '"type":"text"',
  '"text":"a"',
  '"tools":[',
  '"tool_choice":',
  '"type":"function"',
  '"function":{',
  '"name":"f"',
  '"arguments":"{}"',
  '"stream":true',
  '"stop":',
  '"max_tokens":',
  '"response_format":',
  '"input":',
  '"instructions":',
  '"reasoning":',
  '"input_schema":',
  '"tool_use_id":',
  '"thinking":',
  '"system":',
];

/** Reads a body as a rollout's server does, and answers it: the answer is JSON. */
function dialect(one: Dialect, starts: readonly string[], served: ((value: unknown) => unknown) | null): Target {
  return {
    name: `dialect-${one.name.replaceAll(" ", "-")}`,
    starts,
    words: WORDS,
    mostBytes: 8192,
    read(input) {
      const body = readJson(textOf(input));
      const request = one.read(body);
      const head = { id: "0a", created: 1, model: request.model };
      const message = { role: "assistant" as const, content: "yes" };
      const usage = { promptTokens: 1, completionTokens: 1 };
      const reply = { ...head, message, finishReason: "stop" as const, stopSequence: null, usage };
      JSON.parse(exactJson(one.answer(reply)));
      for (const { data } of one.stream(head, request).end(reply)) exactJson(data);
      served?.(body);
    },
  };
}

export const REQUEST_TARGETS: readonly Target[] = [
  dialect(
    chatCompletions,
    [
      '{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"stop":["\\n"],"max_tokens":3}',
      '{"messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}},"stream":true,"stream_options":{"include_usage":true},"tool_choice":"none"}',
    ],
    null,
  ),
  dialect(
    responses,
    [
      '{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"x"}],"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"stream":true,"store":false}',
      '{"input":"a","instructions":"b","max_output_tokens":5,"text":{"format":{"type":"json_schema","name":"a","schema":{}}},"tool_choice":{"type":"function","name":"f"}}',
    ],
    (body) => readResponses(body, "m"),
  ),
  dialect(
    messages,
    [
      '{"model":"m","max_tokens":9,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""},{"type":"tool_use","id":"1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"},"stop_sequences":["b"]}',
    ],
    (body) => readMessages(body, "m"),
  ),
  {
    name: "generate-request",
    starts: [
      '{"model":"m","token_ids":[1,2,3],"sampling_params":{"max_tokens":4,"temperature":0.5,"top_p":0.9,"top_k":3,"seed":7,"stop":["a"],"stop_token_ids":[5],"logit_bias":{"3":1.5},"logprobs":2,"n":2},"stream":true,"stream_options":{"include_usage":true},"priority":1}',
      '{"token_ids":[1],"sampling_params":{"structured_outputs":{"json":{"type":"object"}},"bad_words":["x"],"min_p":0.1,"ignore_eos":true,"prompt_logprobs":1}}',
    ],
    words: [
      ...JSON_WORDS,
      '"sampling_params":{',
      '"structured_outputs":{"regex":"a"}',
      '"allowed_token_ids":[1]',
      '"n":',
      '"logit_bias":',
      '"seed":',
    ],
    read: (input) => parseGenerateRequest(readJson(textOf(input)), LIMITS),
  },
  {
    name: "exact-json",
    starts: ['{"a":[1,2.5,-3e7,12345678901234567890],"b":"\\ue0f5\\"","c":{"":null}}', "[9007199254740993]"],
    words: [...JSON_WORDS, "12345678901234567890", "\ue0f5\uf8e2", "\\ue0f5", '\\"'],
    read(input) {
      const text = textOf(input);
      let plain: unknown;
      try {
        plain = JSON.parse(text);
      } catch {
        return;
      }
      const value = parseExact(text);
      const written = exactJson(value);
      holds(exactJson(parseExact(written)) === written, `${written} is another text the second time`);
      holds(JSON.stringify(JSON.parse(written)) === JSON.stringify(plain), `${written} has other values`);
    },
  },
];
