/** Replies with fields in tags: `<reasoning>...</reasoning><answer>...</answer>`. */
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { checkOptions, only } from "../options.ts";
import type { Message } from "../message.ts";

/** A field, or several names for it; the first is its main name. */
export type XmlField = string | readonly [string, ...string[]];

export interface XmlParserOptions {
  /** The field that `parseAnswer` looks for. Default "answer". */
  answerField?: string;
}

export interface XmlParser {
  /** Trimmed contents by the field's name and by each of its names that occurred; null for missing fields. The last tag counts. */
  parse(text: string): Record<string, string | null>;
  /** The answer field of the last assistant message that has it, or of a text. */
  parseAnswer(completion: string | readonly Message[]): string | null;
  /** Renders fields in their order. Errors: PRL_VERIFY_OPTIONS for a field without a value. */
  format(values: Readonly<Record<string, string>>): string;
  /** The format as an instruction shows it. */
  readonly formatExample: string;
  /**
   * 0 to 1, the mean over assistant messages: 0.4 times the share of fields that are there with content, and 0.2 each when every tag
   * stands on its own or holds its content directly, when the message begins with the first field, and when it ends with the last.
   * The spacing part needs at least one tag.
   */
  formatReward(completion: string | readonly Message[]): number;
}

const optionsSchema = only<XmlParserOptions>({ answerField: z.string().optional() });

/** Errors: PRL_VERIFY_OPTIONS without fields, for names that are no tag names, or that occur twice. */
export function xmlParser(fields: readonly XmlField[], options: XmlParserOptions = {}): XmlParser {
  checkOptions("PRL_VERIFY_OPTIONS", "xmlParser", optionsSchema, options);
  const { answerField = "answer" } = options;
  const sets = fields.map((field) => (typeof field === "string" ? [field] : [...field]));
  const names = sets.flat();
  const wrong = names.find((name) => !/^[A-Za-z_][\w.-]*$/u.test(name));
  if (sets.length === 0) throw new PrlError("PRL_VERIFY_OPTIONS", "fields: expected at least one");
  if (wrong !== undefined) throw new PrlError("PRL_VERIFY_OPTIONS", `fields: ${JSON.stringify(wrong)} is no tag name`);
  if (new Set(names).size < names.length) throw new PrlError("PRL_VERIFY_OPTIONS", "fields: a name occurs twice");

  const parse = (text: string): Record<string, string | null> =>
    Object.fromEntries(
      sets.flatMap((set) => {
        const found = set.map((name) => [name, content(text, name)] as const);
        const value = found.find(([, one]) => one !== null)?.[1] ?? null;
        return found.map(([name, one], index) => [name, index === 0 ? value : one] as const);
      }),
    );
  return {
    parse,
    parseAnswer(completion) {
      if (typeof completion === "string") return content(completion, answerField);
      for (const message of assistantMessages(completion).toReversed()) {
        const found = content(message, answerField);
        if (found !== null) return found;
      }
      return null;
    },
    format(values) {
      return sets
        .map(([name = "", ...others]) => {
          const value = [name, ...others].map((one) => values[one]).find((one) => one !== undefined);
          if (value === undefined) throw new PrlError("PRL_VERIFY_OPTIONS", `values: the field ${name} is missing`);
          return `<${name}>\n${value}\n</${name}>`;
        })
        .join("\n");
    },
    formatExample: sets.map((set) => set.map((name) => `<${name}>\n...\n</${name}>`).join(" or ")).join("\n"),
    formatReward(completion) {
      const messages = typeof completion === "string" ? [completion] : assistantMessages(completion);
      const scores = messages.map((message) => formatScore(message.trim(), sets));
      return scores.length === 0 ? 0 : scores.reduce((a, b) => a + b, 0) / scores.length;
    },
  };
}

/** Trimmed content of the last tag of this name. Tags that are never closed are not searched again and again. */
function content(text: string, name: string): string | null {
  const [opening, closing] = [`<${name}>`, `</${name}>`];
  let found: string | null = null;
  for (let at = text.indexOf(opening); at >= 0;) {
    const start = at + opening.length;
    const end = text.indexOf(closing, start);
    if (end < 0) break;
    found = text.slice(start, end).trim();
    at = text.indexOf(opening, end + closing.length);
  }
  return found;
}

function formatScore(text: string, sets: readonly string[][]): number {
  const present = sets.filter((set) => set.some((name) => (content(text, name) ?? "") !== "")).length;
  const tags = [...text.matchAll(/<\/?([A-Za-z_][\w.-]*)>/gu)].filter(([, name = ""]) =>
    sets.some((set) => set.includes(name)),
  );
  const paired = tags.length > 0 && sets.flat().every((name) => count(text, `<${name}>`) === count(text, `</${name}>`));
  const starts = (sets[0] ?? []).some((name) => text.startsWith(`<${name}>`));
  const ends = (sets.at(-1) ?? []).some((name) => text.endsWith(`</${name}>`));
  return 0.4 * (present / sets.length) + 0.2 * Number(paired) + 0.2 * Number(starts) + 0.2 * Number(ends);
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

function assistantMessages(messages: readonly Message[]): string[] {
  return messages.filter(({ role }) => role === "assistant").map(({ content: text }) => text);
}
