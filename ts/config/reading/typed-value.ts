/** Turns the words of a flag or an environment variable into the value that the schema expects there. */
import { z } from "zod";
import { shorten } from "../keys/key-path.ts";
import { childOf, isFreeForm, isList, nodeOf, shapeOf, typeText } from "../keys/schema-walk.ts";
import { messageOf } from "../../errors.ts";

type AnySchema = z.core.$ZodType;

export type TypedValue = { readonly value: unknown } | { readonly problem: string };

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/**
 * The value that `words` (at least one) stand for under `schema`. Lists are JSON or one word per element, tables JSON; `None` is null
 * where the schema allows it; a word that fits no type gives a problem as text, ready for a message.
 */
export function valueFromWords(schema: AnySchema, words: readonly string[]): TypedValue {
  const node = nodeOf(schema);
  const word = words[0] ?? "";
  if (words.length === 1 && word === "None" && node.nullable) return { value: null };
  if (isList(schema)) return listFromWords(schema, words);
  if (words.length !== 1) return mismatch(schema, words.join(" "));
  const shape = shapeOf(schema);
  if (shape !== undefined) {
    if (word.startsWith("{")) return fromJson(schema, word);
    const key = node.shorthand;
    if (key === undefined) return mismatch(schema, word);
    const inner = valueFromWords(shape[key] as AnySchema, words);
    return "problem" in inner ? inner : { value: { [key]: inner.value } };
  }
  const { inner } = node;
  if (isFreeForm(schema)) return inner instanceof z.ZodRecord ? fromJson(schema, word) : { value: jsonOrText(word) };
  if (inner instanceof z.ZodNumber) return NUMBER.test(word) ? { value: Number(word) } : mismatch(schema, word);
  if (inner instanceof z.ZodBoolean) {
    if (word === "true" || word === "false") return { value: word === "true" };
    return mismatch(schema, word);
  }
  if (inner instanceof z.ZodUnion) {
    for (const option of inner.options) {
      const typed = valueFromWords(option, words);
      if ("value" in typed && z.safeParse(option, typed.value).success) return typed;
    }
    return mismatch(schema, word);
  }
  if (inner instanceof z.ZodLiteral) {
    const value = [...inner.values].find((candidate) => String(candidate) === word);
    return { value: value ?? word };
  }
  return { value: word };
}

function listFromWords(schema: AnySchema, words: readonly string[]): TypedValue {
  if (words.length === 1 && words[0]?.startsWith("[") === true) return fromJson(schema, words[0]);
  const values: unknown[] = [];
  for (const [i, word] of words.entries()) {
    const element = childOf(schema, i);
    if (element === undefined) return mismatch(schema, words.join(" "));
    const typed = valueFromWords(element, [word]);
    if ("problem" in typed) return typed;
    values.push(typed.value);
  }
  return { value: values };
}

function fromJson(schema: AnySchema, word: string): TypedValue {
  try {
    return { value: JSON.parse(word) as unknown };
  } catch (error) {
    const reason = messageOf(error);
    return {
      problem: `expected ${typeText(schema)} as JSON, got ${JSON.stringify(shorten(word))} (${shorten(reason)})`,
    };
  }
}

function jsonOrText(word: string): unknown {
  if (word === "None") return null;
  try {
    return JSON.parse(word) as unknown;
  } catch {
    return word; // Free-form settings take a bare word as text.
  }
}

function mismatch(schema: AnySchema, text: string): TypedValue {
  return { problem: `expected ${typeText(schema)}, got ${JSON.stringify(shorten(text))}` };
}
