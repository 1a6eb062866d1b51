/** Replies that need no skill: parts of the prompt, and answers of other tasks, alone or wrapped like a gold reply. */
import type { Message } from "../../message.ts";
import type { Reply } from "./inspection.ts";

/** A way to reply without solving the task. */
export interface LazyText {
  readonly strategy: string;
  readonly text: string;
}

interface Wrapper {
  readonly name: string;
  /** The text of a reply inside the wrapper; null when the reply has none. */
  readonly unwrap: (reply: string) => string | null;
  readonly wrap: (text: string) => string;
}

const TAG = /<([A-Za-z_][\w-]*)>([\s\S]*?)<\/\1>/u;
const FENCE = /```(\w*)\n([\s\S]*?)```/u;

/** How a gold reply presents its answer: in a box, behind ####, in its tag, in a code block. */
export function wrappersOf(gold: string): Wrapper[] {
  const tag = TAG.exec(gold)?.[1];
  const language = FENCE.exec(gold)?.[1];
  return [
    ...(gold.includes("\\boxed{") ? [BOX] : []),
    ...(/####\s*\S/u.test(gold) ? [HASH] : []),
    ...(tag === undefined ? [] : [tagWrapper(tag)]),
    ...(language === undefined ? [] : [fenceWrapper(language)]),
  ];
}

const BOX: Wrapper = {
  name: "in a box",
  unwrap: (reply) => /\\boxed\{([\s\S]*)\}/u.exec(reply)?.[1] ?? null,
  wrap: (text) => `\\boxed{${text}}`,
};
const HASH: Wrapper = {
  name: "behind ####",
  unwrap: (reply) => /####\s*([^\n]+)/u.exec(reply)?.[1] ?? null,
  wrap: (text) => `#### ${text}`,
};

function tagWrapper(tag: string): Wrapper {
  return {
    name: `in <${tag}>`,
    unwrap: (reply) => TAG.exec(reply)?.[2] ?? null,
    wrap: (text) => `<${tag}>${text}</${tag}>`,
  };
}

function fenceWrapper(language: string): Wrapper {
  return {
    name: "in a code block",
    unwrap: (reply) => FENCE.exec(reply)?.[2] ?? null,
    wrap: (text) => `\`\`\`${language}\n${text}\n\`\`\``,
  };
}

/** Kinds of expressions that a prompt marks as such. */
const MARKED: readonly (readonly [name: string, patterns: readonly RegExp[]])[] = [
  [
    "LaTeX of the prompt",
    [/\$\$([^$]+)\$\$/gu, /(?<!\$)\$([^$\n]+)\$(?!\$)/gu, /\\\(([\s\S]+?)\\\)/gu, /\\\[([\s\S]+?)\\\]/gu],
  ],
  ["quotation of the prompt", [/"([^"\n]+)"/gu, /“([^”\n]+)”/gu, /(?<!`)`([^`\n]+)`(?!`)/gu]],
];
const ARITHMETIC = /(?:[-(]\s*)*\d(?:[\d\s.()+\-*/^%×÷·−]*[\d)])?/gu;
const OPERATION = /[\d)]\s*[+\-*/^%×÷·−]\s*[-(]*\s*\d/u;
/** A word of at least two letters that is not a LaTeX command. */
const WORD = /(?<![\\A-Za-z])[A-Za-z]{2,}/u;
const BORDER = /^[\s.,;:?!$"]+|[\s.,;:?!$"]+$/gu;
const HAS_OPERATION = /[-+*/^=%×÷·−(]|\\[a-z]/u;
/** Longer texts are not expressions. */
const MOST_CHARACTERS = 1000;

/** Texts to copy from a prompt: of each kind of expression the first, the last and the longest. */
export function copiedTexts(prompt: string): LazyText[] {
  const marked = MARKED.flatMap(([name, patterns]) => {
    const found = patterns.flatMap((pattern) => [...prompt.matchAll(pattern)]);
    return picked(
      name,
      found.toSorted((a, b) => a.index - b.index).map((match) => (match[1] ?? "").trim()),
    );
  });
  const sums = (prompt.match(ARITHMETIC) ?? []).map((text) => text.trim()).filter((text) => OPERATION.test(text));
  const expression = longest(expressionsOf(prompt).filter((text) => HAS_OPERATION.test(text)));
  return [
    ...marked,
    ...named("longest calculation of the prompt", longest(sums)),
    ...named("longest expression of the prompt", expression),
  ];
}

/** Operations that a prompt asks for, written down with the prompt's values but not carried out. */
export function undoneTexts(prompt: string): LazyText[] {
  const expressions = expressionsOf(prompt);
  const [a, b] = expressions;
  const term = longest(expressions.filter((text) => /[a-z]/u.test(text)))
    ?.split("=")
    .at(-1)
    ?.trim();
  return [
    ...named("a derivative that is not carried out", term === undefined ? undefined : `\\frac{d}{dx}(${term})`),
    ...(a === undefined || b === undefined
      ? []
      : [
          { strategy: "a remainder that is not computed", text: `${a} \\bmod ${b}` },
          { strategy: "a divisor that is not computed", text: `\\gcd(${a}, ${b})` },
        ]),
  ];
}

/** The parts of a text between its words that contain a number. */
function expressionsOf(prompt: string): string[] {
  return prompt
    .split(WORD)
    .map((text) => text.replaceAll(BORDER, ""))
    .filter((text) => /\d/u.test(text) && text.length <= MOST_CHARACTERS);
}

function longest(texts: readonly string[]): string | undefined {
  return texts.toSorted((a, b) => b.length - a.length)[0];
}

function named(strategy: string, text: string | undefined): LazyText[] {
  return text === undefined ? [] : [{ strategy, text }];
}

/** The text behind the last colon of a message, as in "Sort these: c, a, b"; null without one. */
export function behindColon(message: string): string | null {
  const place = message.lastIndexOf(":");
  const text = message.slice(place + 1).trim();
  return place < 0 || text === "" ? null : text;
}

function picked(name: string, all: readonly string[]): LazyText[] {
  const texts = all.filter((text) => text !== "" && text.length <= MOST_CHARACTERS);
  const places = { first: texts[0], last: texts.at(-1), longest: longest(texts) };
  return Object.entries(places).flatMap(([place, text]) =>
    text === undefined ? [] : [{ strategy: `${place} ${name}`, text }],
  );
}

/** A text alone, and wrapped like the gold reply's answer. */
export function wrapped({ strategy, text }: LazyText, gold: string): LazyText[] {
  const inside = wrappersOf(gold).map(({ name, wrap }) => ({ strategy: `${strategy}, ${name}`, text: wrap(text) }));
  return [{ strategy, text }, ...inside];
}

/** The answer of a gold reply alone, without its derivation. */
export function bareAnswer(gold: string): string {
  const [wrapper] = wrappersOf(gold);
  const inside = wrapper?.unwrap(gold)?.trim();
  return wrapper === undefined || inside === undefined ? gold : wrapper.wrap(inside);
}

/** The gold reply with a choice of two answers; null where its answer cannot be replaced or there is no other answer. */
export function choiceOf(gold: string, other: string): string | null {
  const [wrapper] = wrappersOf(gold);
  const [right, wrong] = [gold, other].map((reply) => wrapper?.unwrap(reply)?.trim());
  if (wrapper === undefined || right === undefined || wrong === undefined || right === wrong) return null;
  return wrapper.wrap(`${right} or ${wrong}`);
}

/** The answers of many tasks as one reply: one below the other, and all in the place of one. */
export function pooled(golds: readonly string[]): LazyText[] {
  const [wrapper] = wrappersOf(golds[0] ?? "");
  const choice = golds
    .map((gold) => (wrapper === undefined ? gold : (wrapper.unwrap(gold) ?? gold)).trim())
    .join(" or ");
  return [
    { strategy: "the answers of all tasks, one below the other", text: golds.map(bareAnswer).join("\n") },
    { strategy: "a choice of all answers", text: wrapper === undefined ? choice : wrapper.wrap(choice) },
  ];
}

/** The last text of a gold reply. */
export function lastText(reply: Reply): string {
  return typeof reply === "string" ? reply : (reply.findLast(({ role }) => role === "assistant")?.content ?? "");
}

/**
 * The gold reply with other text: in a conversation each turn of the policy is the result of `say` for the message before it, without a
 * tool call.
 */
export function saidInstead(gold: Reply, say: (before: Message | undefined) => string): Reply {
  if (typeof gold === "string") return say(undefined);
  const messages: Message[] = [];
  for (const message of gold) {
    const before = messages.at(-1);
    if (message.role === "tool" || (message.role === "assistant" && before?.role === "assistant")) continue;
    messages.push(message.role === "assistant" ? { role: "assistant", content: say(before) } : message);
  }
  return messages;
}
