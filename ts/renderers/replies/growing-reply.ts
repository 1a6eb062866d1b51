/**
 * A reply that is still being sampled: gives its certain text piece by piece; given text never changes.
 *
 * Each token is read once, so the work is linear in the reply's length. The given text is what `parseReply` will return for the whole,
 * as far as later tokens cannot change it: thinking until it is closed, content up to the first call. It holds back an incomplete
 * character, blanks at the end, an end that may become a stop string, and the whole of a reply whose kind is not clear yet.
 */
import type { Family } from "../families.ts";
import { JsonObjectEnd, type ReplyForm } from "./parse-completion.ts";
import { type Piece, PieceStream } from "./pieces.ts";
import { type ReplyDelta, settled, notEmitted } from "./reply-growth.ts";

export interface GrowingReplyOptions {
  /** The prompt ends inside a block of thinking. */
  readonly thinks: boolean;
  /** Whether tool calls are parsed. */
  readonly tools: boolean;
  /** Strings at which sampling stops; they are not part of the reply. */
  readonly stop: readonly string[];
}

/** `waiting`: the rest is given when the reply is whole. */
type Part = "start" | "reasoning" | "content" | "object" | "waiting";

const PYTHON_TAG = "<|python_tag|>";

export class GrowingReply {
  readonly #pieces: PieceStream;
  readonly #family: Family;
  readonly #stopIds: ReadonlySet<number>;
  readonly #options: GrowingReplyOptions;
  readonly #emitted = { content: "", reasoning: "" };
  readonly #object = new JsonObjectEnd();
  #part: Part = "start";
  /** Text of the part that has not been given yet. */
  #text = "";
  /** Tags of thinking count: there has been no block of thinking yet, or it is open. */
  #mayThink: boolean;
  /** The reply itself opened the block of thinking. */
  #isOpened = false;
  /** The text is thinking only if the block is closed later. */
  #isUnclear = false;

  constructor({ tokenizer, family, stopIds }: ReplyForm, options: GrowingReplyOptions) {
    this.#pieces = new PieceStream(tokenizer);
    this.#family = family;
    this.#stopIds = stopIds;
    this.#options = options;
    this.#mayThink = family.thinks;
    if (options.thinks) this.#part = family.thinks || family.toolCalls !== "json" ? "reasoning" : "waiting";
  }

  /** Takes the next tokens and returns the new text. Null when nothing is new. */
  push(ids: Iterable<number>): ReplyDelta | null {
    const delta: ReplyDelta = {};
    for (const id of ids) {
      if (this.#stopIds.has(id)) this.#part = "waiting";
      if (this.#part === "waiting") break;
      for (const piece of this.#pieces.push(id)) this.#take(piece, delta);
    }
    if (this.#part === "reasoning" && !this.#isUnclear) this.#tell("reasoning", delta);
    else if (this.#part === "content" || this.#part === "object") this.#tell("content", delta);
    return Object.keys(delta).length === 0 ? null : delta;
  }

  /** The text of the whole reply that has not been given yet. */
  rest(reply: { content: string; reasoning: string | null }): ReplyDelta | null {
    return notEmitted(reply, this.#emitted);
  }

  #take(piece: Piece, delta: ReplyDelta): void {
    if (piece.delimiter && this.#isMark(piece.text, delta)) return;
    if (this.#part === "waiting") return;
    this.#text += piece.text;
    if (this.#part === "start") this.#begin();
    else if (this.#part === "object") this.#follow(piece.text);
  }

  /** Whether the delimiter acts as one here, and is not text. */
  #isMark(delimiter: string, delta: ReplyDelta): boolean {
    if (delimiter === "<think>") return this.#mayThink && this.#open();
    if (delimiter === "</think>") return this.#mayThink && this.#close(delta);
    const { toolCalls } = this.#family;
    if (delimiter !== "<tool_call>" || toolCalls === null || toolCalls === "json") return false;
    if (this.#part === "content") this.#tell("content", delta);
    if (this.#part !== "reasoning") this.#part = "waiting";
    else if (!this.#isOpened) this.#isUnclear = true;
    return false;
  }

  #open(): boolean {
    const isBlank = this.#text.trim() === "" && this.#emitted.reasoning === "";
    if (this.#part === "start" || (this.#part === "reasoning" && !this.#isOpened && isBlank)) {
      [this.#part, this.#isOpened, this.#text] = ["reasoning", true, ""];
      return true;
    }
    // Behind other text it opens nothing; only the whole reply shows whether that text was thinking.
    if (this.#part === "reasoning" && !this.#isOpened) this.#part = "waiting";
    if (this.#part === "content") this.#mayThink = false;
    return false;
  }

  #close(delta: ReplyDelta): boolean {
    // Without an opening tag it turns given content into thinking.
    if (this.#part === "content") this.#part = "waiting";
    if (this.#part === "waiting") return true;
    if (this.#part === "reasoning") this.#tell("reasoning", delta, true);
    [this.#part, this.#mayThink, this.#text] = ["start", false, ""];
    return true;
  }

  /** The beginning of the content shows its kind. */
  #begin(): void {
    const text = this.#text.trimStart();
    if (text === "") return;
    if (this.#family.toolCalls !== "json") this.#part = "content";
    else if (text.startsWith("{")) {
      this.#part = this.#options.tools ? "waiting" : "object";
      this.#follow(text);
    } else if (text.startsWith(PYTHON_TAG)) this.#part = "waiting";
    else if (!PYTHON_TAG.startsWith(text)) this.#part = "content";
  }

  /** Behind an object that may be a call, other text counts only when the object was not a call. */
  #follow(text: string): void {
    const end = this.#object.push(text);
    if (end !== null) this.#part = "waiting";
  }

  #tell(key: "content" | "reasoning", delta: ReplyDelta, isWhole = false): void {
    const text = this.#emitted[key] === "" ? this.#text.trimStart() : this.#text;
    const certain = isWhole ? text.trimEnd() : settled(text, this.#options.stop);
    this.#text = text.slice(certain.length);
    if (certain === "") return;
    this.#emitted[key] += certain;
    delta[key] = (delta[key] ?? "") + certain;
  }
}
