/**
 * Makes `model/`: architecture, tokenizer and chat template of the example. No weights: a run draws them from its seed.
 *
 *     npm run build:ts && node configs/catalogue-mix/make-model.mjs
 *
 * The tokenizer knows the 256 bytes, the marks of an answer's place, and the words that the demonstrations of `sft.toml` are made of, as one token
 * each. Numbers and rare words, such as made-up names, are spelled in bytes: a model of this size learns digits, not numbers.
 */
import { readFile } from "node:fs/promises";

import { loadEnvironment } from "prl-lm/environments";
import { parse } from "smol-toml";

import { addedToken, byteCharacters, WORD, writeSmallModel } from "../small-model.mjs";

/** Of each task. */
const CONVERSATIONS = 1000;
/** A word is one token when it stands in so many conversations. */
const LEAST = 50;
const CONTEXT = 512;

const SPECIAL = ["<pad>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const PLACES = ["<answer>", "</answer>", "\\boxed{"];

const CHAT_TEMPLATE = [
  "{%- for message in messages -%}",
  "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}",
  "{%- endfor -%}",
  "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}",
].join("");

async function wordsOf({ id, args }, counts) {
  const environment = (await loadEnvironment(id)).configure(args);
  let taken = 0;
  for (const { messages } of environment.demonstrations(0)) {
    const texts = messages.flatMap(({ role, content }) => `${role}\n${content}`.split(/<\/?answer>|\\boxed\{/u));
    for (const word of new Set(texts.flatMap((text) => text.match(WORD) ?? [])))
      counts.set(word, (counts.get(word) ?? 0) + 1);
    if (++taken === CONVERSATIONS) break;
  }
}

async function frequentWords() {
  const { data } = parse(await readFile(new URL("sft.toml", import.meta.url), "utf8"));
  const counts = new Map();
  for (const { env } of data.mix) await wordsOf(env, counts);
  return [...counts].filter(([word, count]) => count >= LEAST && !/\d/u.test(word)).map(([word]) => word);
}

const bytes = byteCharacters();
const spelled = (word) => Array.from(Buffer.from(word), (byte) => bytes[byte]).join("");
const words = new Set((await frequentWords()).map(spelled));
for (const character of bytes) words.delete(character);
const plain = [...bytes, ...[...words].sort()];
const added = [...SPECIAL, ...PLACES].map((content, index) =>
  addedToken(plain.length + index, content, SPECIAL.includes(content)),
);
const [pad, end, , close] = added;

await writeSmallModel(new URL("model/", import.meta.url), {
  plain,
  added,
  pad,
  eos: close,
  stops: [close.id, end.id],
  context: CONTEXT,
  words: true,
  chatTemplate: CHAT_TEMPLATE,
});
