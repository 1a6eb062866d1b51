/** incremental-load: a program takes in daily drops with late and repeated rows and changing columns; the state after each hidden day is graded. */
import { z } from "zod";

import type { Rng } from "../../../../../random/rng.ts";
import { linesOf } from "../../../lists.ts";
import { defineBoxRow, type LeftBox, type Level } from "../../../row.ts";
import { dropTexts, drawFeed, type Feature, type Feed, FULL_SKILL, type Skill, statesOf } from "./drops.ts";
import { goldSteps, LOADER, loaderCommands, runProgram, SPEC, specText, STATE } from "./scripts.ts";

/** Whether the state was right after each day. */
type Left = readonly boolean[];

const MOST_BYTES = 200_000;
const states = z.array(z.string().nullable());

const SLIPS: readonly (readonly [Feature, string, Partial<Skill>])[] = [
  ["late", "takes what comes last", { newest: false }],
  ["deletes", "forgets deletions", { tombstones: false }],
  ["columns", "knows one name of a column", { aliases: false }],
  ["missing", "empties columns that are missing", { missing: false }],
  ["manifest", "takes in broken files", { manifest: false }],
  ["units", "takes units for cents", { units: false }],
  ["voids", "overlooks void rows", { voids: false }],
];

export const incrementalLoad = defineBoxRow<Feed, Left>({
  id: "incremental-load",
  asks: "write a loader of daily drops with late rows, repeats, deletions and changing columns, which hidden days then run",
  make,
  effort: ({ days, features }) =>
    days.reduce((sum, { files }) => sum + files.reduce((rows, one) => rows + one.rows.length, 0), 0) +
    20 * features.length,
  prompts: [
    () =>
      `Every day a drop comes into drops/, a folder of CSV files; ${SPEC} says what they mean. Write ${LOADER} in the work directory. python3 ${LOADER} drops/NAME takes one drop in and then writes ${STATE}, the state that all drops so far give, as ${SPEC} describes it. It may keep other files beside ${STATE} from run to run.\n\nThe test copies ${LOADER} alone into an empty folder with other days that follow those you see, runs it once for each drop, from the first that you see to the last that you do not, and compares ${STATE} after each of the days that you do not see.`,
    () =>
      `Write an incremental loader.\n- input: python3 ${LOADER} drops/NAME, one call for each drop, oldest first\n- output: ${STATE} in the current folder, replaced by every call; rules and columns are in ${SPEC}\n- memory: files of your choice in the current folder\n- test: a fresh folder with ${LOADER} and drops/, which has the days that are here and later ones; the state after every later day has to be right, byte for byte apart from line ends\nLater drops use everything that ${SPEC} says, also what the first days do not show.`,
    () =>
      `Our nightly import is wrong again: rows arrive late, arrive twice, and the files change their shape. ${SPEC} has the rules as they should be, drops/ the first days. Please write a new ${LOADER} (Python 3, standard library) that is called once per day with the folder of that day, python3 ${LOADER} drops/NAME, and leaves the table as it then stands in ${STATE}. We will put it into an empty folder, feed it these days and then days which you have not seen, and look at ${STATE} each evening of those. What it has to remember it may write to files beside it.`,
    () =>
      `Task: ${LOADER}. Call: python3 ${LOADER} drops/NAME (days in order, each once; current folder = that of ${LOADER}). Effect: ${STATE} = state after all drops so far, format and semantics in ${SPEC}. Own files for memory: allowed. Nothing that your trial runs leave is taken over into the test.\nGraded: share of hidden days whose ${STATE} is right, squared. They follow the days in drops/ and contain every case of ${SPEC}.`,
  ],
  start: (feed) => ({
    files: {
      [SPEC]: specText(feed),
      ...Object.fromEntries(
        feed.days
          .slice(0, feed.seen)
          .flatMap(({ name, files }) =>
            Object.entries(dropTexts(feed, files)).map(([file, text]) => [`drops/${name}/${file}`, text]),
          ),
      ),
    },
  }),
  gold: goldSteps,
  slips: (feed) => ({
    ...Object.fromEntries(
      SLIPS.filter(([feature]) => feed.features.includes(feature)).map(([, name, skill]) => [
        name,
        loaderCommands(feed, skill),
      ]),
    ),
    "keeps no memory": [...loaderCommands(feed, {}), `sed -i 's/^json.dump.*//' ${LOADER}`],
    "forgets the header": [...loaderCommands(feed, {}), `sed -i '/price_cents", file=out/d' ${LOADER}`],
    "ignores its argument": [...loaderCommands(feed, {}), `sed -i 's/sys.argv.1./"drops\\/day-01"/' ${LOADER}`],
  }),
  blankets: (feed) => ({
    "a loader that does nothing": [`echo pass > ${LOADER}`],
    "the state of the days that are seen": [
      ...loaderCommands(feed, {}),
      feed.days
        .slice(0, feed.seen)
        .map(({ name }) => `python3 ${LOADER} drops/${name}`)
        .join("; "),
      `printf 'open("${STATE}", "w").write("""%s""")' "$(cat ${STATE})" > ${LOADER}`,
    ],
  }),
  look,
  grade: ({ seen }, left) => shareOf(left.slice(seen)) ** 2,
  parts: ({ seen }, left) => ({ hidden: shareOf(left.slice(seen)), seen: shareOf(left.slice(0, seen)) }),
});

/** Each day changes the state, and every slip gives a wrong one on a hidden day. */
function make(rng: Rng, level: Level): Feed | null {
  const feed = drawFeed(rng, level);
  const textsBy = (skill: Partial<Skill>): string[] =>
    statesOf(feed, { ...FULL_SKILL, ...skill }).map((lines) => lines.join("\n"));
  const right = textsBy({});
  if (new Set(right).size < right.length) return null;
  const isWrong = (skill: Partial<Skill>): boolean =>
    textsBy(skill).some((text, day) => day >= feed.seen && text !== right[day]);
  return SLIPS.every(([feature, , skill]) => !feed.features.includes(feature) || isWrong(skill)) ? feed : null;
}

function shareOf(days: readonly boolean[]): number {
  return days.filter(Boolean).length / Math.max(1, days.length);
}

async function look(feed: Feed, { read, check }: LeftBox): Promise<Left> {
  const wanted = statesOf(feed);
  const loader = await read(LOADER, MOST_BYTES);
  if (loader === null) return wanted.map(() => false);
  const drops = feed.days.flatMap(({ name, files }) =>
    Object.entries(dropTexts(feed, files)).map(([file, text]) => [`run/drops/${name}/${file}`, text]),
  );
  const printed = await check(runProgram(feed), { [`run/${LOADER}`]: loader, ...Object.fromEntries(drops) });
  const found = statesIn(printed);
  return wanted.map((lines, day) => linesOf(found[day] ?? "").join("\n") === lines.join("\n"));
}

/** The loader runs beside the check, so what that prints may be anything. */
function statesIn(printed: string | null): (string | null)[] {
  try {
    return states.parse(JSON.parse(printed ?? "[]"));
  } catch {
    return [];
  }
}
