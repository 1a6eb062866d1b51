/**
 * A reply that is still being sampled: what it says for certain, told piece by piece and never taken back.
 *
 * Each token is looked at once, so the work is linear in the reply's length. Told is what `parseReply` will say of the whole, as far as nothing
 * that follows can change it: thinking until it is closed, content up to the first call. Held back are an incomplete character, blanks at the
 * end, an end that may become a stop string, and, to its end, a reply of which it is not clear yet what it will be.
 */
import type { Family } from "../families.ts";
import { JsonObjectEnd } from "./parse-completion.ts";
import { type Codec, type Piece, PieceStream } from "./pieces.ts";
import { type ReplyDelta, settled, untold } from "./reply-growth.ts";

export interface GrowingReplyOptions {
  /** The prompt ends inside of a block of thinking. */
  readonly thinks: boolean;
  /** Calls are looked for. */
  readonly tools: boolean;
  /** Strings at which sampling stops; they are no part of the reply. */
  readonly stop: readonly string[];
}

/** `waiting`: the rest is told when the reply is whole. */
type Part = "start" | "reasoning" | "content" | "object" | "waiting";

const PYTHON_TAG = "<|python_tag|>";

export class GrowingReply {
  readonly #pieces: PieceStream;
  readonly #family: Family;
  readonly #stopIds: ReadonlySet<number>;
  readonly #options: GrowingReplyOptions;
  readonly #told = { content: "", reasoning: "" };
  readonly #object = new JsonObjectEnd();
  #part: Part = "start";
  /** Text of the part that has not been told. */
  #text = "";
  /** Tags of thinking mean something: there has been no block of it yet, or it is open. */
  #mayThink: boolean;
  /** The block of thinking was opened by the reply itself. */
  #isOpened = false;
  /** Whether it is thinking depends on its being closed. */
  #isUnclear = false;

  constructor(tokenizer: Codec, family: Family, stopIds: ReadonlySet<number>, options: GrowingReplyOptions) {
    this.#pieces = new PieceStream(tokenizer);
    this.#family = family;
    this.#stopIds = stopIds;
    this.#options = options;
    this.#mayThink = family.thinks;
    if (options.thinks) this.#part = family.thinks || family.toolCalls !== "json" ? "reasoning" : "waiting";
  }

  /** With the next tokens. Null when nothing is new. */
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

  /** What is left to be told of the whole reply. */
  rest(reply: { content: string; reasoning: string | null }): ReplyDelta | null {
    return untold(reply, this.#told);
  }

  #take(piece: Piece, delta: ReplyDelta): void {
    if (piece.delimiter && this.#isMark(piece.text, delta)) return;
    if (this.#part === "waiting") return;
    this.#text += piece.text;
    if (this.#part === "start") this.#begin();
    else if (this.#part === "object") this.#follow(piece.text);
  }

  /** Whether the delimiter is one here, and no text. */
  #isMark(delimiter: string, delta: ReplyDelta): boolean {
    if (delimiter === "<think>") return this.#mayThink && this.#open();
    if (delimiter === "</think>") return this.#mayThink && this.#close(delta);
    if (delimiter !== "<tool_call>" || this.#family.toolCalls !== "tagged") return false;
    if (this.#part === "content") this.#tell("content", delta);
    if (this.#part !== "reasoning") this.#part = "waiting";
    else if (!this.#isOpened) this.#isUnclear = true;
    return false;
  }

  #open(): boolean {
    const isBlank = this.#text.trim() === "" && this.#told.reasoning === "";
    if (this.#part === "start" || (this.#part === "reasoning" && !this.#isOpened && isBlank)) {
      [this.#part, this.#isOpened, this.#text] = ["reasoning", true, ""];
      return true;
    }
    // Behind other text it opens nothing; whether that text was thinking is for the whole to say.
    if (this.#part === "reasoning" && !this.#isOpened) this.#part = "waiting";
    if (this.#part === "content") this.#mayThink = false;
    return false;
  }

  #close(delta: ReplyDelta): boolean {
    // Without a beginning it makes thinking of what was told as content.
    if (this.#part === "content") this.#part = "waiting";
    if (this.#part === "waiting") return true;
    if (this.#part === "reasoning") this.#tell("reasoning", delta, true);
    [this.#part, this.#mayThink, this.#text] = ["start", false, ""];
    return true;
  }

  /** What content begins with tells what it is. */
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

  /** Behind an object that may be read as a call, other text counts only when it was none. */
  #follow(text: string): void {
    const end = this.#object.push(text);
    if (end !== null) this.#part = "waiting";
  }

  #tell(key: "content" | "reasoning", delta: ReplyDelta, isWhole = false): void {
    const text = this.#told[key] === "" ? this.#text.trimStart() : this.#text;
    const certain = isWhole ? text.trimEnd() : settled(text, this.#options.stop);
    this.#text = text.slice(certain.length);
    if (certain === "") return;
    this.#told[key] += certain;
    delta[key] = (delta[key] ?? "") + certain;
  }
}
