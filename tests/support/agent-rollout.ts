/** A rollout whose agent is a function of the test, against a policy that gives the replies of the test. */
import { z } from "zod";

import {
  defineEnvironment,
  type EndpointRolloutRequest,
  InterceptionServer,
  type Limits,
  type PolicyClient,
  type RolloutRequest,
  type SessionParts,
} from "../../ts/environments/index.ts";
import { loadRenderer, loadTokenizer } from "../../ts/renderers/index.ts";
import { REVERSE_TEXT_MODEL } from "../unit/environments/builtin/reverse-text-model.ts";

export const END = "<|im_end|>";
export const tokenizer = await loadTokenizer(REVERSE_TEXT_MODEL);
export const renderer = await loadRenderer(REVERSE_TEXT_MODEL);

export const call = (name: string, args: unknown) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

/** Says one text after the other, each within the limit; waits for `gate` before each. */
export function policy(texts: readonly string[], gate: () => Promise<unknown> = async () => undefined) {
  const prompts: string[] = [];
  const client: PolicyClient = {
    async generate({ tokenIds, sampling }) {
      prompts.push(tokenizer.decode(tokenIds));
      const said = tokenizer.encode(texts[prompts.length - 1] ?? `nothing more${END}`);
      await gate();
      const most = sampling.maxCompletionTokens ?? said.length;
      const ids = said.subarray(0, most);
      return {
        tokenIds: ids,
        logprobs: new Float32Array(ids.length).fill(-1),
        policyVersions: [[0, prompts.length]],
        finishReason: ids.length < said.length ? "length" : "stop",
      };
    },
  };
  return { client, prompts };
}

export interface Agent {
  /** For Anthropic's SDK; OpenAI's wants `/v1` behind it. */
  url: string;
  key: string;
}

type Policy = Pick<RolloutRequest, "client"> | Pick<EndpointRolloutRequest, "endpoint">;

/** Runs `agent` as the rollout; what it throws is the rollout's failure. */
export async function runAgent(
  { server, ...who }: Policy & { server: InterceptionServer },
  agent: (way: Agent, session: ReturnType<InterceptionServer["open"]>["session"]) => Promise<void>,
  options: Omit<SessionParts, "sample" | "trace" | "countTokens" | "signal"> = {},
  signal = new AbortController().signal,
  limits: Limits = {},
) {
  const environment = defineEnvironment({
    name: "test",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: (): { prompt: string }[] => [],
    limits,
    rollout: async (context) => {
      const { session, close } = server.open({ ...context, ...options });
      try {
        await agent({ url: server.url, key: session.key }, session);
      } finally {
        close();
      }
      return {
        metrics: session.metrics,
        ...(session.stopCondition === null ? {} : { stopCondition: session.stopCondition }),
      };
    },
    rewards: { turns: ({ trace }) => trace.turns },
  }).configure();
  const { episode, columns } = await environment.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task: { key: "0", hash: "", data: { prompt: "" } },
    ...("client" in who ? { ...who, tokenizer, renderer } : who),
    sampling: { temperature: 1, maxCompletionTokens: 200, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "train", step: 1 },
    signal,
  });
  const texts = columns.map(({ tokenIds, branchOffsets }) =>
    Array.from(branchOffsets.subarray(1), (end, branch) =>
      tokenizer.decode(tokenIds.subarray(branchOffsets[branch] ?? 0, end)),
    ),
  );
  return { episode, trace: episode.traces[0], columns: columns[0], branches: texts[0] ?? [] };
}
