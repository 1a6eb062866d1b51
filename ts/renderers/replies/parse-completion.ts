/**
 * Parses sampled tokens into a message: reasoning, content, every attempt to call a tool.
 *
 * Thinking comes first: a tool call inside it is not one.
 */
import { holdsInfinity } from "../../exact-json.ts";
import type { Family } from "../families.ts";
import { type Codec, type Piece, splitTokens } from "./pieces.ts";
import { piecesBefore, type StoppedBy } from "./stop-strings.ts";
import { readXmlCall } from "./xml-call.ts";

export type ToolCallStatus = "ok" | "invalid_json" | "unclosed_block" | "missing_name";

export interface ParsedToolCall {
  readonly status: ToolCallStatus;
  /** Name of the function; null when it could not be read. */
  readonly name: string | null;
  /** Null when they are not a JSON object. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** The call as the model wrote it. */
  readonly raw: string;
}

export interface ParsedCompletion {
  readonly content: string;
  /** Null without a think block; "" for an empty one. An unclosed block is all reasoning. */
  readonly reasoning: string | null;
  /** Attempts in order, also those that failed. */
  readonly toolCalls: readonly ParsedToolCall[];
}

/** How a model writes replies. */
export interface ReplyForm {
  readonly tokenizer: Codec;
  readonly family: Family;
  /** Tokens that end a reply. */
  readonly stopIds: ReadonlySet<number>;
}

/** Everything from the first stop token on is left out; `stopped`: the text from that stop string on is also left out. */
export function parseCompletion(
  { tokenizer, family, stopIds }: ReplyForm,
  completionIds: Uint32Array,
  stopped: StoppedBy | null = null,
): ParsedCompletion {
  const end = completionIds.findIndex((id) => stopIds.has(id));
  const ids = end < 0 ? completionIds : completionIds.subarray(0, end);
  const pieces = stopped === null ? splitTokens(tokenizer, ids) : piecesBefore(tokenizer, ids, stopped);
  const { reasoning, rest } = family.thinks ? takeThinking(pieces) : { reasoning: null, rest: pieces };
  if (family.toolCalls === "json") return { ...jsonCalls(text(rest)), reasoning };
  if (family.toolCalls === null) return { content: text(rest).trim(), reasoning, toolCalls: [] };
  return { ...taggedCalls(rest, family.toolCalls === "xml"), reasoning };
}

function takeThinking(pieces: readonly Piece[]): { reasoning: string | null; rest: readonly Piece[] } {
  const is = (wanted: string) => (piece: Piece) => piece.delimiter && piece.text === wanted;
  const open = pieces.findIndex(is("<think>"));
  const close = pieces.findIndex(is("</think>"));
  // The opening tag may be in the prompt.
  if (open < 0 && close < 0) return { reasoning: null, rest: pieces };
  if (open > 0 && text(pieces.slice(0, open)).trim() !== "" && (close < 0 || open < close))
    return { reasoning: null, rest: pieces };
  if (close < 0) return { reasoning: text(pieces.slice(open + 1)).trim(), rest: [] };
  const from = open >= 0 && open < close ? open + 1 : 0;
  return { reasoning: text(pieces.slice(from, close)).trim(), rest: pieces.slice(close + 1) };
}

function taggedCalls(pieces: readonly Piece[], isXml: boolean): { content: string; toolCalls: ParsedToolCall[] } {
  const toolCalls: ParsedToolCall[] = [];
  let content = "";
  for (let at = 0; at < pieces.length; at++) {
    const piece = pieces[at];
    if (piece === undefined) break;
    if (!piece.delimiter || piece.text !== "<tool_call>") {
      content += piece.text;
      continue;
    }
    const rest = pieces.slice(at + 1);
    const length = rest.findIndex(
      ({ delimiter, text: one }) => delimiter && (one === "</tool_call>" || one === "<tool_call>"),
    );
    const isClosed = rest[length]?.text === "</tool_call>";
    const body = text(length < 0 ? rest : rest.slice(0, length));
    toolCalls.push(
      isClosed
        ? isXml
          ? readXmlCall(body)
          : readCall(body, "arguments")
        : { status: "unclosed_block", name: null, arguments: null, raw: body.trim() },
    );
    at += length < 0 ? rest.length : length + Number(isClosed);
  }
  return { content: content.trim(), toolCalls };
}

/** Llama 3: a message that is one JSON call, or several separated by semicolons. */
function jsonCalls(whole: string): { content: string; toolCalls: ParsedToolCall[] } {
  const body = whole.replace(/^\s*<\|python_tag\|>/u, "").trim();
  if (!body.startsWith("{")) return { content: whole.trim(), toolCalls: [] };
  const toolCalls: ParsedToolCall[] = [];
  for (let start = 0; start < body.length;) {
    const length = new JsonObjectEnd().push(body.slice(start));
    const end = length === null ? null : start + length;
    const raw = body.slice(start, end ?? body.length);
    toolCalls.push(
      end === null ? { status: "invalid_json", name: null, arguments: null, raw } : readCall(raw, "parameters"),
    );
    if (end === null) break;
    const next = /^\s*;?\s*(?=\{)/u.exec(body.slice(end));
    if (next === null) break;
    start = end + next[0].length;
  }
  // An object that names no function is an ordinary reply in JSON.
  if (toolCalls.every(({ status }) => status === "missing_name")) return { content: whole.trim(), toolCalls: [] };
  return { content: "", toolCalls };
}

function readCall(body: string, key: "arguments" | "parameters"): ParsedToolCall {
  const raw = body.trim();
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch {
    return { status: "invalid_json", name: null, arguments: null, raw };
  }
  if (typeof value !== "object" || value === null || !("name" in value) || typeof value.name !== "string") {
    return { status: "missing_name", name: null, arguments: null, raw };
  }
  const fields = value as Record<string, unknown>;
  const given = fields[key] ?? fields[key === "arguments" ? "parameters" : "arguments"] ?? {};
  const isObject = typeof given === "object" && !Array.isArray(given) && !holdsInfinity(given);
  const status = isObject ? "ok" : "invalid_json";
  return { status, name: value.name, arguments: isObject ? (given as Record<string, unknown>) : null, raw };
}

/** Finds the end of the JSON object at the beginning of a text, which may come in pieces. */
export class JsonObjectEnd {
  #depth = 0;
  #isQuoted = false;
  #isEscaped = false;

  /** Index behind the object in this piece; null while the object goes on. */
  push(piece: string): number | null {
    for (let at = 0; at < piece.length; at++) {
      const sign = piece[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isQuoted) {
        if (sign === "\\") this.#isEscaped = true;
        else if (sign === '"') this.#isQuoted = false;
      } else if (sign === '"') this.#isQuoted = true;
      else if (sign === "{") this.#depth++;
      else if (sign === "}" && --this.#depth === 0) return at + 1;
    }
    return null;
  }
}

function text(pieces: readonly Piece[]): string {
  return pieces.map((piece) => piece.text).join("");
}
