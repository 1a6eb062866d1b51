/**
 * Instructions that a program can check, drawn at random: their text, their id for `checkInstruction`, and the text that a reply needs to
 * follow them. Kinds about the same thing share a `theme`; a task has at most one instruction of each theme.
 */
import type { Rng } from "../../../random/rng.ts";
import { name as madeName, word as madeWord } from "../words.ts";
import type { Draft } from "./draft.ts";
import { KEYWORDS, sentenceAbout, sentenceOf, sentenceWith } from "./sentences.ts";

export interface DrawnInstruction {
  readonly id: string;
  readonly kwargs: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface InstructionKind {
  readonly theme: string;
  /**
   * It asks for words that are made for this task, so that no text follows it in all tasks. Every task has one.
   */
  readonly ownWords?: true;
  /** Draws an instruction and makes the draft follow it. */
  readonly draw: (context: { rng: Rng; draft: Draft; topic: string }) => DrawnInstruction;
}

const between = (rng: Rng, least: number, most: number): number => least + rng.integer(most - least + 1);
const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

export const CATALOG: readonly InstructionKind[] = [
  {
    theme: "keywords",
    draw({ rng, draft }) {
      const keywords = pickSome(KEYWORDS, 2, rng);
      for (const keyword of keywords) draft.sentences.push(sentenceWith(keyword, rng));
      const text = `Use the words ${keywords.map((word) => `"${word}"`).join(" and ")}.`;
      return { id: "keywords:existence", kwargs: { keywords }, text };
    },
  },
  {
    theme: "person",
    ownWords: true,
    draw({ rng, draft }) {
      const [keyword, frequency] = [madeName(rng), between(rng, 2, 5)];
      for (let i = 0; i < frequency; i++) draft.sentences.push(sentenceOf(keyword, rng));
      const text = `Write of somebody with the name "${keyword}" and use that name at least ${frequency} times.`;
      return { id: "keywords:frequency", kwargs: { keyword, frequency, relation: "at least" }, text };
    },
  },
  {
    theme: "forbidden",
    draw({ rng }) {
      const forbidden = pickSome(["very", "nice", "good", "thing", "really", "also", "maybe"], 3, rng);
      const text = `Do not use any of the words ${forbidden.map((word) => `"${word}"`).join(", ")}.`;
      return { id: "keywords:forbidden_words", kwargs: { forbidden_words: forbidden }, text };
    },
  },
  {
    theme: "length",
    draw({ rng, draft, topic }) {
      const words = between(rng, 4, 12) * 5;
      while (draft.sentences.join(" ").split(" ").length < words) draft.sentences.push(sentenceAbout(topic, rng));
      const kwargs = { num_words: words, relation: "at least" };
      return { id: "length_constraints:number_words", kwargs, text: `Write at least ${words} words.` };
    },
  },
  {
    theme: "length",
    draw({ rng }) {
      const words = between(rng, 25, 40) * 10;
      const kwargs = { num_words: words, relation: "less than" };
      return { id: "length_constraints:number_words", kwargs, text: `Write fewer than ${words} words.` };
    },
  },
  {
    theme: "length",
    draw({ rng, draft, topic }) {
      const count = between(rng, 3, 8);
      while (draft.sentences.length < count) draft.sentences.push(sentenceAbout(topic, rng));
      const kwargs = { num_sentences: count, relation: "at least" };
      return { id: "length_constraints:number_sentences", kwargs, text: `Write at least ${count} sentences.` };
    },
  },
  {
    theme: "placeholders",
    draw({ rng, draft }) {
      const count = between(rng, 1, 3);
      const names = ["[name]", "[place]", "[date]"].slice(0, count);
      for (const name of names) draft.sentences.push(`The note says ${name}.`);
      const text = `Have at least ${counted(count, "placeholder")} in square brackets, such as [name].`;
      return { id: "detectable_content:number_placeholders", kwargs: { num_placeholders: count }, text };
    },
  },
  {
    theme: "postscript",
    draw({ rng, draft, topic }) {
      draft.postscript = `P.S. ${sentenceAbout(topic, rng)}`;
      const text = `Add a postscript that begins with "P.S.".`;
      return { id: "detectable_content:postscript", kwargs: { postscript_marker: "P.S." }, text };
    },
  },
  {
    theme: "bullets",
    draw({ rng, draft, topic }) {
      const count = between(rng, 2, 5);
      for (let i = 0; i < count; i++) draft.bullets.push(sentenceAbout(topic, rng));
      const text = `Have exactly ${counted(count, "bullet point")}, each on a line that begins with "- ".`;
      return { id: "detectable_format:number_bullet_lists", kwargs: { num_bullets: count }, text };
    },
  },
  {
    theme: "title",
    draw({ draft, topic }) {
      draft.title = `About ${topic}`;
      return {
        id: "detectable_format:title",
        kwargs: {},
        text: "Give it a title in double angular brackets, such as <<my title>>.",
      };
    },
  },
  {
    theme: "highlights",
    draw({ rng, draft }) {
      const count = between(rng, 1, 3);
      for (let i = 0; i < count; i++) draft.sentences.push(`The *${KEYWORDS[rng.integer(KEYWORDS.length)]}* is there.`);
      const text = `Highlight at least ${counted(count, "part")} with asterisks, such as *highlighted part*.`;
      return { id: "detectable_format:number_highlighted_sections", kwargs: { num_highlights: count }, text };
    },
  },
  {
    theme: "sections",
    draw({ rng, draft }) {
      const [heading, count] = [rng.pick(["SECTION", "PART"]), between(rng, 2, 3)];
      draft.sections = { heading, count };
      const text = `Divide it into ${count} sections, each under a heading such as "${heading} 1".`;
      const kwargs = { section_spliter: heading, num_sections: count };
      return { id: "detectable_format:multiple_sections", kwargs, text };
    },
  },
  {
    theme: "end",
    ownWords: true,
    draw({ rng, draft }) {
      const [who, where] = [madeName(rng), madeWord(rng)];
      const phrase = rng.pick([
        `That is all that ${who} of ${where} knows.`,
        `So said ${who} of ${where}.`,
        `${who} went home to ${where}.`,
      ]);
      draft.end = phrase;
      const text = `End with the very words "${phrase}" and nothing behind them.`;
      return { id: "startend:end_checker", kwargs: { end_phrase: phrase }, text };
    },
  },
  {
    theme: "end",
    ownWords: true,
    draw({ rng, draft }) {
      const keyword = madeName(rng);
      draft.sentences.unshift(rng.pick([`Old ${keyword} saw it all.`, `When ${keyword} came it was late.`]));
      draft.end = rng.pick([`We still speak of ${keyword} today.`, `It was the house of ${keyword} again.`]);
      const text = `Let both the second word and the last but one be "${keyword}".`;
      return { id: "words:words_position", kwargs: { keyword }, text };
    },
  },
  {
    theme: "quotation",
    draw({ draft }) {
      draft.quoted = true;
      return { id: "startend:quotation", kwargs: {}, text: "Put the whole reply in double quotation marks." };
    },
  },
  {
    theme: "commas",
    draw: () => ({ id: "punctuation:no_comma", kwargs: {}, text: "Use no commas." }),
  },
  {
    theme: "letters",
    draw({ draft }) {
      draft.letters = "small";
      return { id: "change_case:english_lowercase", kwargs: {}, text: "Use no capital letters." };
    },
  },
  {
    theme: "letters",
    draw({ draft }) {
      draft.letters = "capital";
      return { id: "change_case:english_capital", kwargs: {}, text: "Use capital letters only." };
    },
  },
  {
    theme: "letters",
    draw({ rng, draft }) {
      const count = between(rng, 1, 3);
      for (const word of pickSome(KEYWORDS, count, rng)) draft.sentences.push(sentenceWith(word.toUpperCase(), rng));
      const kwargs = { capital_frequency: count, capital_relation: "at least" };
      const text = `Write at least ${counted(count, "word")} in capital letters only.`;
      return { id: "change_case:capital_word_frequency", kwargs, text };
    },
  },
  {
    theme: "conjunctions",
    draw({ rng, draft }) {
      const count = between(rng, 2, 4);
      const words = pickSome(["and", "but", "or", "so", "yet"], count, rng);
      for (const word of words) draft.sentences.push(`The sun is up ${word} the day is long.`);
      const text = `Use at least ${count} different coordinating conjunctions.`;
      return { id: "count:conjunctions", kwargs: { small_n: count }, text };
    },
  },
  {
    theme: "template",
    draw({ draft }) {
      draft.sentences.push("My Answer: it is there.", "My Conclusion: it stays.", "Future Outlook: it grows.");
      const text = `Use the labels "My Answer:", "My Conclusion:" and "Future Outlook:".`;
      return { id: "format:output_template", kwargs: {}, text };
    },
  },
];

/** Different ones. */
export function pickSome<Item>(items: readonly Item[], count: number, rng: Rng): Item[] {
  const left = [...items];
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(rng.integer(left.length), 1)).flat();
}
