/**
 * The format that the text of a completion has to match, and its compilation for the tokens of one model.
 *
 * The tokenizer's file is read when the first request needs it. Formats that were compiled are kept, since the requests of a run repeat a few.
 */

import type { NativeGrammar, NativeVocabulary } from "#native";
import { z } from "zod";

import { Slots } from "../../async/slots.ts";
import { PrlError } from "../../errors.ts";
import { exactJson } from "../../exact-json.ts";
import { checkOptions, only } from "../../options.ts";
import { addon } from "../addon.ts";
import { nativeAsync } from "../errors.ts";
import { schemaJson } from "./schema-json.ts";

/**
 * Exactly one of `jsonSchema`, `regex`, `choice`, `grammar` and `structuralTag`. A completion that ends by an end-of-sequence or stop token without a text matches it;
 * one that ends by its length may be the beginning of such a text.
 */
export interface StructuredOutput {
  /** A JSON document of this JSON Schema. A keyword that cannot be enforced is refused. */
  jsonSchema?: object | boolean;
  /** This regular expression, in the syntax of Rust's regex crate, matches the whole text. */
  regex?: string;
  /** The text is one of these. */
  choice?: readonly string[];
  /** A grammar: EBNF (GBNF, xgrammar's) if its first rule is written `name ::=`, otherwise llguidance's dialect of Lark. */
  grammar?: string;
  /** Free text with tags of a fixed content, and the like: vLLM's structural tag, with `structures` and `triggers` or with `format`. */
  structuralTag?: object;
  /** With `jsonSchema`: the white space that can be between parts of the JSON, as a regular expression. Default: any. */
  whiteSpace?: string;
  /** JSON has no white space outside of strings. Default false. */
  compact?: boolean;
  /** The format begins behind the first occurrence of this text and up to eight blanks or line ends; the text before is free. Default: at the beginning. */
  after?: string;
}

const CODE = "PRL_ENGINE_INPUT";
/** Most compiled formats that are kept. */
const MAX_KEPT = 64;
/** Native calls that take long share eight threads, of which the one that fetches completions needs one. A format may take seconds. */
const COMPILED_AT_ONCE = 2;
/** A format is compiled to its end: other requests may wait for it too. */
const NEVER = new AbortController().signal;
const KINDS = ["jsonSchema", "regex", "choice", "grammar", "structuralTag"] as const;

export const structuredOutputSchema = only<StructuredOutput>({
  jsonSchema: z
    .custom<object | boolean>(
      (value) => typeof value === "boolean" || (typeof value === "object" && value !== null && !Array.isArray(value)),
      "must be an object or a boolean",
    )
    .optional(),
  regex: z.string().optional(),
  choice: z.array(z.string()).optional(),
  grammar: z.string().optional(),
  structuralTag: z
    .custom<object>(
      (value) => typeof value === "object" && value !== null && !Array.isArray(value),
      "must be an object",
    )
    .optional(),
  whiteSpace: z.string().optional(),
  compact: z.boolean().optional(),
  after: z.string().min(1).optional(),
})
  .refine(
    (output) => KINDS.filter((kind) => output[kind] !== undefined).length === 1,
    `must have exactly one of ${KINDS.join(", ")}`,
  )
  .refine(
    ({ whiteSpace, jsonSchema, compact }) => whiteSpace === undefined || (jsonSchema !== undefined && compact !== true),
    "has whiteSpace, which goes with jsonSchema and without compact only",
  );

/** Where a model's formats come from. */
export interface FormatSource {
  /** Folder with tokenizer.json. */
  dir: string;
  vocabSize: number;
  /** Tokens that end sequences. */
  eosTokenIds: readonly number[];
}

/** The formats of one model. */
export class Formats {
  readonly #source: FormatSource;
  /** By their JSON, the one that was used last at the end. */
  readonly #compiled = new Map<string, Promise<NativeGrammar>>();
  readonly #slots = new Slots(COMPILED_AT_ONCE);
  #vocabulary: Promise<NativeVocabulary> | undefined;

  constructor(source: FormatSource) {
    this.#source = source;
  }

  /** Errors: PRL_ENGINE_INPUT, PRL_GRAMMAR_INVALID, PRL_GRAMMAR_TOO_LARGE, PRL_GRAMMAR_EMPTY, PRL_TOKENIZER. */
  async compile(output: StructuredOutput): Promise<NativeGrammar> {
    checkOptions(CODE, "structuredOutput", structuredOutputSchema, output);
    const name = exactJson(output);
    const kept = this.#compiled.get(name);
    this.#compiled.delete(name);
    const compiled = kept ?? this.#compile(output);
    this.#compiled.set(name, compiled);
    for (const oldest of this.#compiled.keys()) {
      if (this.#compiled.size <= MAX_KEPT) break;
      this.#compiled.delete(oldest);
    }
    try {
      return await compiled;
    } catch (error) {
      if (this.#compiled.get(name) === compiled) this.#compiled.delete(name);
      throw error;
    }
  }

  async #compile(output: StructuredOutput): Promise<NativeGrammar> {
    const { jsonSchema, regex = null, choice, grammar = null, structuralTag } = output;
    const { whiteSpace = null, compact = false, after = null } = output;
    const source = {
      jsonSchema: jsonSchema === undefined ? null : jsonOf("jsonSchema", jsonSchema),
      regex,
      choice: choice === undefined ? null : [...choice],
      grammar,
      structuralTag: structuralTag === undefined ? null : jsonOf("structuralTag", structuralTag),
      whiteSpace,
      compact,
      after,
    };
    const vocabulary = await (this.#vocabulary ??= this.#load());
    return this.#slots.run(NEVER, () => nativeAsync(() => vocabulary.compile(source)));
  }

  async #load(): Promise<NativeVocabulary> {
    const { dir, vocabSize, eosTokenIds } = this.#source;
    const { NativeVocabulary: Native } = addon();
    try {
      return await nativeAsync(() => Native.load(dir, vocabSize, Uint32Array.from(eosTokenIds)));
    } catch (error) {
      this.#vocabulary = undefined;
      throw error;
    }
  }
}

function jsonOf(field: string, value: object | boolean): string {
  const json: unknown = schemaJson(value);
  if (typeof json === "string") return json;
  throw new PrlError(CODE, `structuredOutput: ${field} is no JSON`);
}
