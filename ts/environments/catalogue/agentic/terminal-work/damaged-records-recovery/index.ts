/** damaged-records-recovery: records are read from frames that were cut, mixed, doubled and flipped, and only what a checksum verifies counts. */
import type { Rng } from "../../../../../random/rng.ts";
import { linesOf } from "../../../lists.ts";
import { defineBoxRow, type LeftBox, type Level } from "../../../row.ts";
import { aboveBase } from "../../records.ts";
import { type Drawn, drawDump, type Dump } from "./damage.ts";
import { FULL_SKILL, lineOf, recovered, type Skill } from "./frames.ts";
import { ANSWER, FORMAT_FILE, formatText, goldSteps, HEADER, NOTE, readingCommands } from "./scripts.ts";
import { WORDINGS } from "./wordings.ts";

interface Recovery extends Dump {
  /** Lines of the answer, in the order of their ids. */
  readonly lines: readonly string[];
  /** What the best careless reader gets. */
  readonly base: number;
  readonly damages: number;
}

/** Lines of the answer that is left. */
interface Left {
  readonly right: number;
  readonly wrong: number;
}

const MOST_BYTES = 1 << 20;
const MOST_LINES = 5_000;
/** A careless reader gets less than this, or there is too little to recover. */
const MOST_FOR_CARELESS = 0.85;
const LEAST_LINES = 8;

const SLIPS: Readonly<Record<string, Partial<Skill>>> = {
  "compares no checksums": { checks: false },
  "mends no bits": { bits: false, lengths: false },
  "stops at the first damage": { goesOn: false },
  "mends no lengths": { lengths: false },
  "takes the last version": { versions: false },
  "keeps deleted records": { gone: false },
  "reads files as segments": { chunks: false },
  "joins chunks as they come": { order: false },
};
/** Readers that need no thought: what they get is where a score begins. */
const CARELESS: readonly Partial<Skill>[] = [
  { checks: false },
  { bits: false, lengths: false },
  { chunks: false, checks: false },
];

export const damagedRecordsRecovery = defineBoxRow<Recovery, Left>({
  id: "damaged-records-recovery",
  asks: "recover records from damaged frames by their checksums, and nothing that cannot be verified",
  make,
  effort: ({ files, damages, lines }) =>
    Math.round(files.reduce((sum, [, hex]) => sum + hex.length, 0) / 200) + 2 * damages + lines.length,
  prompts: WORDINGS,
  start: ({ folder, files, format }) => ({
    files: {
      [`${folder}/${FORMAT_FILE}`]: formatText(format),
      [`${folder}/NOTE.txt`]: NOTE,
      ...Object.fromEntries(files.map(([name, hex]) => [`${folder}/${name}`, Buffer.from(hex, "hex")])),
    },
  }),
  gold: (one) => goldSteps(one, one.lines.length),
  slips: (one) =>
    Object.fromEntries(
      Object.entries(SLIPS)
        .filter(([, skill]) => shareOf(countsOf(linesBy(one, skill), one.lines), one) < 1)
        .map(([name, skill]) => [name, readingCommands(one, skill)]),
    ),
  blankets: (one) => ({
    "writes no record": [`echo ${HEADER} > ${ANSWER}`],
    "takes every text that looks like a record": readingCommands(one, { checks: false, chunks: false }),
    "copies the files": [`cat ${one.folder}/*.bin > ${ANSWER}`],
  }),
  look,
  grade: (one, left) => aboveBase(shareOf(left, one), one.base),
  parts: (one, { right, wrong }) => ({
    found: right / one.lines.length,
    clean: right + wrong === 0 ? 0 : right / (right + wrong),
  }),
});

function make(rng: Rng, level: Level): Recovery | null {
  const { written, ...dump }: Drawn = drawDump(rng, level);
  const lines = linesBy(dump, FULL_SKILL);
  const truth = new Set(written.map(lineOf));
  // A frame that was verified by chance would be a wrong answer that counts as right.
  if (lines.length < LEAST_LINES || lines.some((line) => !truth.has(line))) return null;
  const one = { ...dump, lines };
  const base = Math.max(...CARELESS.map((skill) => shareOf(countsOf(linesBy(one, skill), lines), one)));
  const costly = Object.values(SLIPS).filter((skill) => shareOf(countsOf(linesBy(one, skill), lines), one) < 1);
  return base > MOST_FOR_CARELESS || costly.length < Math.min(2 + level, 7) ? null : { ...one, base };
}

function linesBy({ format, files }: Dump, skill: Partial<Skill>): string[] {
  const bytes = files.map(([, hex]) => Buffer.from(hex, "hex"));
  return recovered(format, bytes, { ...FULL_SKILL, ...skill })
    .map(lineOf)
    .toSorted();
}

function countsOf(lines: readonly string[], wanted: readonly string[]): Left {
  const open = new Set(wanted);
  const right = lines.filter((line) => open.delete(line)).length;
  return { right, wrong: lines.length - right };
}

function shareOf({ right, wrong }: Left, { lines }: Pick<Recovery, "lines">): number {
  return Math.max(0, (right - 2 * wrong) / lines.length);
}

async function look({ lines }: Recovery, { read }: LeftBox): Promise<Left> {
  const bytes = await read(ANSWER, MOST_BYTES);
  const [first, ...rest] = linesOf(bytes?.toString("latin1") ?? "");
  return first === HEADER && rest.length <= MOST_LINES ? countsOf(rest, lines) : { right: 0, wrong: 0 };
}
