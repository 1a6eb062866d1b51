/** altered-code-translation: the protein of a gene under a code that the problem states, with strands, introns and mutations. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  dna: string;
  /** The strand that is read is the opposite one. */
  isOpposite: boolean;
  /** Amino acid of each codon in the order of `codons()`; "*" ends the protein. */
  code: string;
  start: string;
  introns: number;
  /** A base that is deleted from the strand as written, counted from 1; null: none. */
  deleted: number | null;
}

/** By level: codons of the protein, opposite strand, introns, a deletion. */
const KNOBS = [
  [6, false, 0, false],
  [9, true, 0, false],
  [13, true, 1, false],
  [18, true, 2, false],
  [24, true, 3, true],
] as const;
const BASES = ["A", "C", "G", "T"];
const AMINO = "ACDEFGHIKLMNPQRSTVWY".split("");
const LEAST_PROTEIN = 4;
const MOST_PROTEIN = 40;
/** They begin and end an intron. */
const [DONOR, ACCEPTOR] = ["GTAG", "CAGG"];

export const alteredCodeTranslation = fieldRow<Given>({
  id: "altered-code-translation",
  asks: "the protein of a gene with strands, introns and a deletion, under an invented genetic code",
  draw,
  solve,
  values: () => "the protein as one word of amino-acid letters, without the end mark",
  wordings: [
    (one) =>
      `An organism has an unusual genetic code (amino acid, then its codons; * ends the protein):\n${codeTable(one)}\n\nDNA, 5' to 3':\n${one.dna}\n\n${rules(one)} Which protein is made?`,
    (one) =>
      `${rules(one)}\n\nThe strand, from 5' to 3': ${one.dna}\n\nTranslate it with this table, which is not the usual one (* is the end):\n${codeTable(one)}`,
    (one) =>
      `Sequence (5'-3'):\n${one.dna}\n\nCode of a virus that no database has, * meaning stop:\n${codeTable(one)}\n\nFind the protein. ${rules(one)}`,
    (one) =>
      `What does this gene code for? ${rules(one)}\n\nCodons by amino acid (stop codons at *):\n${codeTable(one)}\n\nGene as written, 5' end first:\n${one.dna}`,
  ],
});

function codons(): string[] {
  return BASES.flatMap((a) => BASES.flatMap((b) => BASES.map((c) => a + b + c)));
}

function draw(rng: Rng, level: Level): Given | null {
  const [length, isOpposite, introns, hasDeletion] = at(KNOBS, level - 1);
  const all = codons();
  const letters = shuffled([...AMINO, ...AMINO, ...AMINO, "*"], rng);
  const code = shuffled([...letters, "*", ...shuffled(AMINO, rng).slice(0, 2)], rng).join("");
  const start = rng.pick(all.filter((codon, index) => code[index] !== "*" && codon !== "ATG"));
  const meaning = all.filter((_, index) => code[index] !== "*");
  const stops = all.filter((_, index) => code[index] === "*");
  const bases = (count: number): string =>
    range(count)
      .map(() => rng.pick(BASES))
      .join("");
  let message = `${bases(between(rng, 3, 9))}${start}${range(length - 1)
    .map(() => rng.pick(meaning))
    .join("")}${rng.pick(stops)}${bases(between(rng, 4, 10))}`;
  for (let count = 0; count < introns; count++) {
    const place = between(rng, 12, message.length - 8);
    message = `${message.slice(0, place)}${DONOR}${bases(between(rng, 3, 8))}${ACCEPTOR}${message.slice(place)}`;
  }
  const dna = isOpposite ? opposite(message) : message;
  return {
    dna,
    isOpposite,
    code,
    start,
    introns,
    deleted: hasDeletion ? between(rng, 8, dna.length - 8) : null,
  };
}

function solve(given: Given): Solution | null {
  const { isOpposite, introns, deleted } = given;
  const value = proteinOf(given);
  if (value === null || value.length < LEAST_PROTEIN || value.length > MOST_PROTEIN) return null;
  if (introns > 0 && spliced(read(given)).removed !== introns) return null;
  const others = [
    ...(isOpposite ? [{ ...given, isOpposite: false }] : []),
    ...(deleted === null ? [] : [{ ...given, deleted: null }]),
  ].map(proteinOf);
  const unspliced = introns === 0 ? null : translated(given, read(given));
  // A step that does not matter is no step.
  if (others.includes(value) || unspliced === value) return null;
  const shifted = translated(given, read(given).slice(read(given).indexOf(given.start) + 1));
  const slips = [
    ...others,
    unspliced,
    shifted,
    value.slice(0, -1),
    value.split("").toReversed().join(""),
    `${value}${value[0]}`,
  ];
  return {
    fields: [{ name: "protein", kind: "word", value }],
    slips: slips.filter((one) => one !== null && one !== value && one !== "").map((one) => [one ?? ""]),
    steps: value.length + 12 * introns + 10 * Number(isOpposite) + 15 * Number(deleted !== null),
  };
}

/** The strand that is read, after the deletion. */
function read({ dna, isOpposite, deleted }: Given): string {
  const kept = deleted === null ? dna : dna.slice(0, deleted - 1) + dna.slice(deleted);
  return isOpposite ? opposite(kept) : kept;
}

function proteinOf(given: Given): string | null {
  return translated(given, given.introns > 0 ? spliced(read(given)).text : read(given));
}

/** From the first start codon to the first end in its frame; null without one of them. */
function translated({ code, start }: Given, text: string): string | null {
  const begin = text.indexOf(start);
  if (begin < 0) return null;
  const table = codons();
  let protein = "";
  for (let place = begin; place + 3 <= text.length; place += 3) {
    const letter = code[table.indexOf(text.slice(place, place + 3))] ?? "";
    if (letter === "*") return protein;
    protein += letter;
  }
  return null;
}

/** From left to right, each intron reaches from its first mark to the next end mark behind it. */
function spliced(text: string): { text: string; removed: number } {
  let [rest, removed] = [text, 0];
  for (let begin = rest.indexOf(DONOR); begin >= 0; begin = rest.indexOf(DONOR, begin)) {
    const end = rest.indexOf(ACCEPTOR, begin + DONOR.length);
    if (end < 0) break;
    rest = rest.slice(0, begin) + rest.slice(end + ACCEPTOR.length);
    removed += 1;
  }
  return { text: rest, removed };
}

function opposite(strand: string): string {
  return strand
    .split("")
    .toReversed()
    .map((base) => at(BASES, 3 - BASES.indexOf(base)))
    .join("");
}

function rules({ isOpposite, start, introns, deleted }: Given): string {
  const mutation =
    deleted === null
      ? ""
      : `A mutation removes base ${deleted} of the strand as written (counted from 1 at the 5' end). `;
  const strand = isOpposite
    ? "The message has the sequence of the other strand, which is complementary and runs the opposite way (T is kept for U). "
    : "The message has the sequence of this strand (T is kept for U). ";
  const splicing =
    introns === 0
      ? ""
      : `Introns are cut out of the message from left to right: each begins with the first ${DONOR} that is left and ends with the nearest ${ACCEPTOR} behind that, both of which go too; after a cut the search goes on at the place of the cut, and a ${DONOR} without ${ACCEPTOR} behind it stays. `;
  return `${mutation}${strand}${splicing}Translation begins with the first ${start} of the ${introns === 0 ? "message" : "message after splicing"}, which is itself translated, and goes on codon by codon to the first end codon of its frame.`;
}

function codeTable({ code }: Given): string {
  const all = codons();
  return [...AMINO, "*"]
    .map((letter) => `${letter}: ${all.filter((_, index) => code[index] === letter).join(" ")}`)
    .join("\n");
}
