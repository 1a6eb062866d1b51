/** A reply as the events of OpenAI's responses, while it is sampled. */
import { ReplyGrowth } from "../renderers/internal.ts";
import type { ReplyHead, StreamEvent, StreamWriter } from "./dialect.ts";
import type { SoFar } from "./reply-progress.ts";
import { answer, itemsOf, KINDS, type OutputItem, partOf, textItem } from "./responses-answer.ts";

type Part = Record<string, unknown>;

/** Items come one after the other: reasoning, message, calls. */
export function responsesStream(head: ReplyHead): StreamWriter {
  const growth = new ReplyGrowth([]);
  const sent = { reasoning: "", message: "" };
  let sequence = 0;
  let index = -1;
  let open: keyof typeof sent | null = null;
  let isBegun = false;
  const numbered = (parts: readonly Part[]): StreamEvent[] =>
    parts.map((data) => ({ event: String(data["type"]), data: { ...data, sequence_number: sequence++ } }));
  const start = (): Part[] => {
    if (isBegun) return [];
    isBegun = true;
    const nothing = { role: "assistant", content: "" } as const;
    const usage = { promptTokens: 0, completionTokens: 0 };
    const whole = answer({ ...head, message: nothing, finishReason: "stop", stopSequence: null, usage });
    const response = { ...whole, status: "in_progress", output: [], usage: null };
    return [
      { type: "response.created", response },
      { type: "response.in_progress", response },
    ];
  };
  const grown = (kind: keyof typeof sent, delta: string): Part[] => {
    const parts: Part[] = [];
    if (open !== kind) parts.push(...close(), ...begun(textItem(head.id, kind, "", "in_progress"), ++index));
    open = kind;
    sent[kind] += delta;
    return [
      ...parts,
      { ...placeOf(head.id, kind, index), type: `response.${KINDS[kind].text}.delta`, delta, logprobs: [] },
    ];
  };
  const close = (status = "completed"): Part[] => {
    if (open === null) return [];
    const kind = open;
    open = null;
    const [text, item] = [sent[kind], textItem(head.id, kind, sent[kind], status)];
    const place = placeOf(head.id, kind, index);
    return [
      { ...place, type: `response.${KINDS[kind].text}.done`, text, logprobs: [] },
      { ...place, type: "response.content_part.done", part: partOf(kind, text) },
      { type: "response.output_item.done", output_index: index, item },
    ];
  };
  const grow = (soFar: SoFar): Part[] => {
    const { reasoning, content: text } = growth.rest(soFar) ?? {};
    return [
      ...start(),
      ...(reasoning === undefined || open === "message" ? [] : grown("reasoning", reasoning)),
      ...(text === undefined ? [] : grown("message", text)),
    ];
  };
  return {
    grow: (soFar) => numbered(grow(soFar)),
    end(reply) {
      const whole = answer(reply);
      const { content: text, reasoning_content: reasoning = "", tool_calls: calls = [] } = reply.message;
      const parts = grow({ content: text, reasoning });
      if (text === "" && calls.length === 0) parts.push(...grown("message", ""));
      parts.push(...close(reply.finishReason === "length" ? "incomplete" : "completed"));
      for (const item of itemsOf(reply).filter(({ type }) => type === "function_call"))
        parts.push(...callParts(item, ++index));
      parts.push({ type: `response.${String(whole["status"])}`, response: whole });
      return numbered(parts);
    },
  };
}

function begun(item: OutputItem, output_index: number): Part[] {
  const part = partOf(item.type === "reasoning" ? "reasoning" : "message", "");
  return [
    { type: "response.output_item.added", output_index, item },
    { type: "response.content_part.added", item_id: item.id, output_index, content_index: 0, part },
  ];
}

function callParts(item: OutputItem, output_index: number): Part[] {
  const at = { item_id: item.id, output_index };
  const { arguments: text, name } = item;
  return [
    { type: "response.output_item.added", output_index, item: { ...item, status: "in_progress", arguments: "" } },
    { ...at, type: "response.function_call_arguments.delta", delta: text },
    { ...at, type: "response.function_call_arguments.done", arguments: text, name },
    { type: "response.output_item.done", output_index, item },
  ];
}

function placeOf(id: string, kind: keyof typeof KINDS, output_index: number): Part {
  return { item_id: KINDS[kind].prefix + id, output_index, content_index: 0 };
}
