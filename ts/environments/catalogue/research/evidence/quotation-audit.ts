/** quotation-audit: quotations against the speeches that they come from: faithful, altered, misattributed or joined over a gap. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { fieldRow, balanced, type Solution } from "../../field-row.ts";

interface Given {
  speakers: string[];
  /** Sentences of each speaker's speech. */
  speeches: string[][];
  quotes: { speaker: number; text: string }[];
}

/** By level: speakers, sentences in a speech, quotations. */
const SIZES = [
  [3, 4, 8],
  [4, 5, 8],
  [5, 7, 10],
  [6, 10, 12],
  [8, 13, 16],
] as const;
const KINDS = ["faithful", "altered", "misattributed", "joined"] as const;

const SUBJECTS = [
  "the council",
  "our harbour",
  "the new bridge",
  "the mill",
  "the school",
  "this tax",
  "the night watch",
  "the market",
  "the old wall",
  "the canal",
];
const VERBS = [
  ["will need", "will not need"],
  ["has cost", "has saved"],
  ["deserves", "does not deserve"],
  ["could lose", "could gain"],
  ["never had", "always had"],
] as const;
const OBJECTS = [
  "more money",
  "two years of work",
  "the trust of the people",
  "the help of the crown",
  "a hundred new hands",
  "half of its guests",
  "the patience of our fathers",
  "better stone",
];
const ENDS = [
  "before winter",
  "in my view",
  "as every child knows",
  "unless the price falls",
  "since the great flood",
  "if the reports are right",
  "after all these years",
  "without any doubt",
];

export const quotationAudit = fieldRow<Given>({
  id: "quotation-audit",
  asks: "whether quotations are faithful, altered, given to the wrong speaker, or joined from sentences that did not follow each other",
  draw,
  solve,
  isShared: true,
  values: () => `each value is one of ${KINDS.join(", ")}`,
  wordings: [
    (one) => `Speeches in the assembly:\n${speechText(one)}\n\nThe newspaper printed:\n${quoteLines(one)}\n\n${RULES}`,
    (one) => `${RULES}\n\nPrinted quotations:\n${quoteLines(one)}\n\nStenographic record:\n${speechText(one)}`,
    (one) =>
      `Compare the quotations with the record, word by word. ${RULES}\n\nRecord:\n${speechText(one)}\n\nQuotations:\n${quoteLines(one)}`,
    (one) =>
      `A press council checks these quotations:\n${quoteLines(one)}\n\nThe protocol of the session:\n${speechText(one)}\n\nFor each quotation give the finding. ${RULES}`,
  ],
});

const RULES =
  "A quotation has two sentences. It is faithful when the named speaker said exactly these words, one sentence directly after the other; misattributed when another speaker said exactly this and the named one did not; joined when the named speaker said both sentences in these words and in this order, but with something between them; and altered when words of a sentence were changed.";

function draw(rng: Rng, level: Level): Given | null {
  const [speakerCount, length, quoteCount] = at(SIZES, level - 1);
  const make = (): string =>
    `${rng.pick(SUBJECTS)} ${rng.pick(rng.pick(VERBS))} ${rng.pick(OBJECTS)} ${rng.pick(ENDS)}`;
  const all = distinct(speakerCount * length, make);
  const speeches = range(speakerCount).map((speaker) => all.slice(speaker * length, (speaker + 1) * length));
  const used: number[][] = [];
  const quotes = balanced(KINDS, quoteCount, rng).map((kind) => {
    const speaker = rng.integer(speakerCount);
    const speech = at(speeches, speaker);
    const first = rng.integer(length - 1);
    if (kind === "joined") {
      const [a = 0, b = 0] = sample(range(length), 2, rng).toSorted((x, y) => x - y);
      const far = b === a + 1 ? (a > 0 ? [0, b] : [a, length - 1]) : [a, b];
      used.push(far);
      return { speaker, text: quoted([at(speech, at(far, 0)), at(speech, at(far, 1))]) };
    }
    used.push([first, first + 1]);
    const pair = [at(speech, first), at(speech, first + 1)];
    if (kind === "misattributed")
      return { speaker: (speaker + between(rng, 1, speakerCount - 1)) % speakerCount, text: quoted(pair) };
    if (kind === "faithful") return { speaker, text: quoted(pair) };
    const place = rng.integer(2);
    return { speaker, text: quoted(pair.map((text, index) => (index === place ? changed(text, rng) : text))) };
  });
  if (used.some(([a = 0, b = 0]) => b <= a)) return null;
  return { speakers: distinct(speakerCount, () => name(rng)), speeches, quotes: shuffled(quotes, rng) };
}

/** One part of the sentence is another one of its list. */
function changed(text: string, rng: Rng): string {
  const lists: readonly (readonly string[])[] = [VERBS.flat(), OBJECTS, ENDS];
  const list = rng.pick(lists);
  const old = list.filter((part) => text.includes(` ${part}`)).toSorted((a, b) => b.length - a.length)[0] ?? "";
  const opposite = VERBS.find((pair) => pair.some((verb) => verb === old))?.find((verb) => verb !== old);
  return text.replace(` ${old}`, ` ${opposite ?? rng.pick(list.filter((part) => part !== old))}`);
}

function quoted(sentences: readonly string[]): string {
  return sentences.map((text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`).join(" ");
}

function solve({ speeches, quotes }: Given): Solution | null {
  const record = speeches.map((speech) => quoted(speech));
  const kinds = quotes.map(({ speaker, text }) => {
    if (at(record, speaker).includes(text)) return "faithful";
    if (record.some((speech) => speech.includes(text))) return "misattributed";
    const [first = "", second = ""] = text.split(/(?<=\.) /u);
    const own = at(record, speaker);
    return own.includes(first) && own.indexOf(second) > own.indexOf(first) ? "joined" : "altered";
  });
  if (KINDS.some((kind) => !kinds.includes(kind))) return null;
  const bySentence = kinds.map((kind) => (kind === "joined" ? "faithful" : kind));
  const byWords = kinds.map((kind) => (kind === "misattributed" ? "faithful" : kind));
  const loose = kinds.map((kind) => (kind === "altered" ? "faithful" : kind));
  return {
    fields: kinds.map((value, index) => ({ name: `Q${index + 1}`, kind: "word", value, options: KINDS })),
    slips: [bySentence, byWords, loose],
    steps: speeches.flat().length * quotes.length,
  };
}

function speechText({ speakers, speeches: all }: Given): string {
  return all.map((speech, index) => `${at(speakers, index)}: ${quoted(speech)}`).join("\n");
}

function quoteLines({ speakers, quotes: all }: Given): string {
  return all.map(({ speaker, text }, index) => `Q${index + 1} (${at(speakers, speaker)}) "${text}"`).join("\n");
}
