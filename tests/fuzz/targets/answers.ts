/** Readers of the answers of servers: inference servers, foreign endpoints, the hub, servers of tools. Each answer comes over HTTP from a server on loopback. */
import { rmSync } from "node:fs";

import { mcpTools } from "../../../ts/environments/conversation/mcp-tools.ts";
import { type EndpointApi, openEndpoint } from "../../../ts/environments/endpoint/endpoint.ts";
import { openSnapshot } from "../../../ts/hub/repository.ts";
import { hubSettings } from "../../../ts/hub/settings.ts";
import { InferenceAdmin, InferenceClient, VllmAdmin } from "../../../ts/inference-client/index.ts";
import { EventStreamParser } from "../../../ts/inference-client/server-events.ts";
import { eachOf, holds, type Target, textOf } from "../engine/target.ts";
import { AnsweringServer, folderOf } from "./place.ts";

const server = new AnsweringServer();
const url = await server.url;
const SAMPLING = { temperature: 1, maxCompletionTokens: 8, topP: 1, topK: -1 };
const signal = new AbortController().signal;
const JSON_WORDS = ['"', ":", ",", "{", "}", "[", "]", "null", "true", "-1", "1e999", '"__proto__":', "\\ud800"];
const EVENT_WORDS = [
  ...JSON_WORDS,
  "data: ",
  "event: ",
  "id: ",
  "retry: ",
  "\n\n",
  "\r\n",
  "\r",
  ":",
  "[DONE]",
  "\ufeff",
  "data: null\n\n",
  "data: [DONE]\n\n",
];
const CHAT_WORDS = [
  ...EVENT_WORDS,
  '"choices":[',
  '"delta":',
  '"content":',
  '"tool_calls":[',
  '"index":',
  '"function":{',
  '"finish_reason":"stop"',
  '"usage":',
  '"error":{"message":"a"}',
  '"logprobs":',
  '"reasoning_content":',
];

const GENERATED =
  '{"choices":[{"token_ids":[1,2],"logprobs":{"content":[{"logprob":-0.5},{"logprob":-1}]},"finish_reason":"stop","stop_reason":2,"policy_versions":[[0,3]]}],"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}';
const NOTED = GENERATED.replace(
  '"policy_versions":[[0,3]]',
  '"weight_versions":[{"version":"3 00112233aabbccdd","start":0,"end":2}]',
);
const SCORED =
  '{"prompt_logprobs":[null,{"2":{"logprob":-1.5}}],"choices":[{"token_ids":[],"policy_versions":[[0,3]]}]}';

/** Asks for a completion as a whole or in events. Whatever comes, each token has a log-probability. */
function generate(name: string, starts: readonly string[], api: "prl" | "vllm", isStream: boolean): Target {
  const client = new InferenceClient({ url, vocabSize: 100, deadlineMs: 5_000, api, connections: 1 });
  return {
    name,
    starts,
    words: [
      ...EVENT_WORDS,
      '"token_ids":[1]',
      '"logprobs":{"content":[{"logprob":-1}]}',
      '"policy_versions":[[0,1]]',
      '"weight_versions":[',
      '"finish_reason":"length"',
      '"routed_experts":',
      '"error":',
    ],
    mostBytes: 8192,
    async read(input) {
      server.answer(input, isStream ? "text/event-stream" : "application/json");
      const onTokens = isStream ? { onTokens: () => undefined } : {};
      const { tokenIds, logprobs } = await client.generate({ tokenIds: [1], ...onTokens });
      holds(tokenIds.length === logprobs.length, "tokens and log-probabilities have different lengths");
      if (!isStream) await client.promptLogprobs([1, 2]);
    },
  };
}

const events = (...data: string[]): string => data.map((one) => `data: ${one}\n\n`).join("");

/** Asks an endpoint for a reply, as a whole or in events. */
function endpoint(name: string, api: EndpointApi, stream: boolean, starts: readonly string[]): Target {
  const opened = openEndpoint({ url, model: "m", api, stream, maxRetries: 0, timeoutMs: 5_000, backoffMs: 1 });
  return {
    name,
    starts,
    words: CHAT_WORDS,
    mostBytes: 8192,
    async read(input) {
      server.answer(input, stream ? "text/event-stream" : "application/json");
      const { message, toolCalls } = await opened.reply({
        prompt: [{ role: "user", content: "a" }],
        sampling: SAMPLING,
        seed: 1,
        signal,
        onText: (text) => holds(typeof text === "string", "a piece is no text"),
      });
      holds(typeof message.content === "string", "the content is no text");
      for (const call of toolCalls) holds(call.status !== "ok" || call.arguments !== null, "a call has no arguments");
    },
  };
}

/** Each call of a server's control, on the same answer. */
function control(name: string, admin: InferenceAdmin | VllmAdmin, starts: readonly string[]): Target {
  return {
    name,
    starts,
    words: [
      ...JSON_WORDS,
      '"status":"ok"',
      '"data":[{"id":"m","max_model_len":9}]',
      'vllm:num_requests_running{engine="0"} 1',
      "\n",
      '"is_sleeping":true',
      '"weight_version":"3 00112233aabbccdd"',
    ],
    mostBytes: 4096,
    async read(input) {
      server.answer(input);
      await eachOf(
        () => admin.models(),
        () => admin.load(),
        () => admin.health(),
        () => admin.about(),
        () => admin.isSleeping(),
        () => admin.promptLogprobs([1, 2]),
        () => admin.updateWeights({ version: 3, digest: "00112233aabbccdd", source: { path: "/w" } as never }),
      );
    },
  };
}

const hubFolder = folderOf("hub");
const settings = {
  ...hubSettings({ HF_ENDPOINT: url, HF_HOME: hubFolder, PRL_CACHE_DIR: hubFolder }),
  attempts: 1,
  backoffMs: 1,
};

export const ANSWER_TARGETS: readonly Target[] = [
  {
    name: "event-stream",
    starts: ["event: a\ndata: b\ndata: c\nid: 1\n\n: comment\n\ndata: d\r\n\r\n"],
    words: EVENT_WORDS,
    read(input) {
      const whole = new EventStreamParser().push(input);
      const cut = new EventStreamParser();
      const pieces = Array.from(input, (byte) => cut.push(Uint8Array.of(byte)));
      // Behind a carriage return alone the library needs to see what follows, and then loses an event whose data is empty.
      const isEqual = JSON.stringify(pieces.flat()) === JSON.stringify(whole);
      holds(isEqual || /\r(?!\n)/u.test(textOf(input)), "the events depend on where the stream is cut");
    },
    mostBytes: 4096,
  },
  generate("generate-answer", [GENERATED, SCORED], "prl", false),
  generate(
    "generate-stream",
    [
      events(GENERATED.replace('"stop","stop_reason":2', "null"), GENERATED, "[DONE]"),
      events('{"error":{"message":"a"}}'),
    ],
    "prl",
    true,
  ),
  generate("generate-answer-vllm", [NOTED, SCORED], "vllm", false),
  control("control-answers", new InferenceAdmin({ url }), [
    '{"status":"ok","paused":false,"policy_version":3,"digest":"00112233aabbccdd","running":0,"waiting":0}',
    'vllm:num_requests_running{engine="0"} 1\nvllm:num_requests_waiting{engine="0"} 0\nvllm:kv_cache_usage_perc{engine="0"} 0.5\n',
    '{"data":[{"id":"m","max_model_len":9}],"is_sleeping":false,"isa":"avx2","dtype":"float32"}',
    SCORED,
  ]),
  control("control-answers-vllm", new VllmAdmin({ url }), [
    '{"weight_version":"3 00112233aabbccdd","version":"0.32.0","is_paused":false,"is_sleeping":false,"success":true,"vllm_config":{"model_config":{"logprobs_mode":"processed_logprobs","dtype":"torch.float32"}},"data":[{"id":"m","max_model_len":9}]}',
    SCORED,
  ]),
  endpoint("endpoint-openai", "openai", false, [
    '{"choices":[{"message":{"role":"assistant","content":"a","reasoning_content":"b","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
  ]),
  endpoint("endpoint-openai-stream", "openai", true, [
    events(
      '{"choices":[{"delta":{"role":"assistant","content":"a"}}]}',
      '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}}]}',
      '{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
      "[DONE]",
    ),
  ]),
  endpoint("endpoint-anthropic", "anthropic", false, [
    '{"content":[{"type":"thinking","thinking":"b"},{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}',
  ]),
  endpoint("endpoint-anthropic-stream", "anthropic", true, [
    events(
      '{"type":"message_start","message":{"role":"assistant","usage":{"input_tokens":1}}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
      '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}',
      '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}}',
      '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\":1}"}}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}',
      '{"type":"message_stop"}',
    ),
  ]),
  {
    name: "hub-listing",
    starts: [
      '[{"type":"file","path":"data/a.jsonl","size":3,"oid":"0123456789012345678901234567890123456789"},{"type":"directory","path":"data"},{"type":"file","path":"b.parquet","size":130,"oid":"0123456789012345678901234567890123456789","lfs":{"oid":"sha256:0123456789012345678901234567890123456789012345678901234567890123","size":5}}]',
      '{"sha":"0123456789012345678901234567890123456789"}',
    ],
    words: [
      ...JSON_WORDS,
      '"type":"file"',
      '"path":',
      '"../"',
      '"lfs":',
      '"oid":',
      '"size":',
      '"sha":',
      "0123456789012345678901234567890123456789",
    ],
    mostBytes: 8192,
    async read(input) {
      server.answer(input);
      rmSync(hubFolder, { recursive: true, force: true });
      const isCommit = textOf(input).startsWith("[");
      const revision = isCommit ? "0123456789012345678901234567890123456789" : "main";
      const { files } = await openSnapshot(settings, "owner/name", revision);
      for (const { path } of files) holds(!path.split("/").includes(".."), `${path} leaves the repository`);
    },
  },
  {
    name: "mcp-answers",
    starts: [
      '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}',
      '[{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}},{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"f","inputSchema":{"type":"object"}}]}},{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"a"}],"isError":false}}]',
    ],
    words: [
      ...JSON_WORDS,
      '"jsonrpc":"2.0"',
      '"id":1',
      '"result":{',
      '"error":{"code":-32000,"message":"a"}',
      '"tools":[',
      '"inputSchema":',
      '"content":[',
      '"method":"ping"',
      '"nextCursor":"a"',
    ],
    mostBytes: 8192,
    inputs: 20,
    async read(input) {
      server.answer(input);
      const opened = await mcpTools({ url, startTimeoutMs: 50, timeoutMs: 50 }).open(signal);
      try {
        for (const tool of Object.values(opened.tools)) await tool.call({}, { signal } as never);
      } finally {
        await opened.close?.();
      }
    },
  },
];
