/** Ways to read tool calls and thinking, under vLLM's names, for models whose template does not show how they write them. */
import type { Family } from "../families.ts";

export const TOOL_CALL_PARSERS = ["hermes", "llama3_json", "qwen3_coder", "qwen3_xml"] as const;
export const REASONING_PARSERS = ["qwen3", "deepseek_r1"] as const;

export type ToolCallParser = (typeof TOOL_CALL_PARSERS)[number];
export type ReasoningParser = (typeof REASONING_PARSERS)[number];

export interface ReplyParsers {
  /** By default the model's family decides. */
  readonly toolCallParser?: ToolCallParser | undefined;
  /** The same. */
  readonly reasoningParser?: ReasoningParser | undefined;
}

const TOOL_CALLS: Readonly<Record<ToolCallParser, NonNullable<Family["toolCalls"]>>> = {
  hermes: "tagged",
  llama3_json: "json",
  qwen3_coder: "xml",
  qwen3_xml: "xml",
};

/** The family, read with these parsers. */
export function withParsers(family: Family, { toolCallParser, reasoningParser }: ReplyParsers): Family {
  return {
    ...family,
    ...(toolCallParser !== undefined && { toolCalls: TOOL_CALLS[toolCallParser] }),
    ...(reasoningParser !== undefined && { thinks: true, thinksFirst: reasoningParser === "deepseek_r1" }),
  };
}
