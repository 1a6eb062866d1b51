/** Instructions of IFBench that are whole tasks. */
import type { Instruction } from "./arguments.ts";

/** Degrees north of capitals in Europe above the 45th parallel. Kyiv, which IFBench's own list lacks, may be named or not. */
const LATITUDES: Readonly<Record<string, number>> = {
  Reykjavik: 64.15,
  Helsinki: 60.17,
  Oslo: 59.91,
  Tallinn: 59.44,
  Stockholm: 59.33,
  Riga: 56.95,
  Moscow: 55.76,
  Copenhagen: 55.68,
  Vilnius: 54.69,
  Minsk: 53.9,
  Dublin: 53.35,
  Berlin: 52.52,
  Amsterdam: 52.37,
  Warsaw: 52.23,
  London: 51.51,
  Brussels: 50.85,
  Kyiv: 50.45,
  Prague: 50.08,
  Luxembourg: 49.61,
  Paris: 48.86,
  Vienna: 48.21,
  Bratislava: 48.14,
  Budapest: 47.5,
  Vaduz: 47.14,
  Chisinau: 47.01,
  Bern: 46.95,
  Ljubljana: 46.06,
  Zagreb: 45.81,
};

/** From north to south, without Kyiv: IFBench's own list. */
export const EUROPEAN_CAPITALS: readonly string[] = Object.keys(LATITUDES).filter((name) => name !== "Kyiv");

const AFRICAN_COUNTRIES_AT_LEAST = 52;

export const CUSTOM_INSTRUCTIONS: Readonly<Record<string, Instruction>> = {
  "custom:multiples": (text) => (text.match(/\d+/gu) ?? []).join(" ") === "14 21 28 35 42 49",
  "custom:mcq_count_length": (text) => {
    if (!text.startsWith("Question")) return false;
    const questions = text.split(/^Question\b\s*\d*\s*[.):;|]?\s*/mu).filter((part) => part.trim() !== "");
    const isOption = (line: string): boolean => /^[A-Ea-e][.)]\s*\S/u.test(line.trim());
    const lengths = questions.map((question) => {
      const lines = question.split("\n");
      const first = lines.findIndex(isOption);
      return lines.filter(isOption).length === 5 ? lines.slice(0, first).join(" ").trim().length : Number.NaN;
    });
    return lengths.length === 4 && lengths.every((length, index) => length > (lengths[index - 1] ?? 0));
  },
  "custom:reverse_newline": (text) => {
    const lines = withoutMarks(text)
      .split("\n")
      .map((line) => line.replace(/^[\s\p{P}\d]+|[\s\p{P}]+$/gu, ""))
      .filter((line) => line !== "");
    const names = lines.slice(Math.max(0, lines.indexOf("Zimbabwe")));
    return (
      names[0] === "Zimbabwe" &&
      names.length >= AFRICAN_COUNTRIES_AT_LEAST &&
      names.every((name, index) => index === 0 || name <= (names[index - 1] ?? ""))
    );
  },
  "custom:word_reverse": (text) => /\beagle bald\b/u.test(text.toLowerCase().replace(/[\s\p{P}]+/gu, " ")),
  "custom:character_reverse": (text) => text.toLowerCase().includes("elgae dlab"),
  "custom:european_capitals_sort": (text) => {
    const named = withoutMarks(text)
      .replace(/\.\s*$/u, "")
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    const matches = (list: readonly string[]): boolean => list.join() === named.join();
    return matches(Object.keys(LATITUDES)) || matches(EUROPEAN_CAPITALS);
  },
  "custom:csv_city": (text) => isTable(parseCsv(text, ","), ["ID", "Country", "City", "Year", "Count"], 7),
  "custom:csv_special_character": (text) => {
    const table = parseCsv(text, ",");
    const isSpecial = ({ text: field, quoted }: Field): boolean => quoted && /[^\p{L}\p{N}\s_]/u.test(field);
    return (
      isTable(table, ["ProductID", "Category", "Brand", "Price", "Stock"], 14) &&
      (table ?? []).slice(1).some((row) => row.some(isSpecial))
    );
  },
  "custom:csv_quotes": (text) => {
    const table = parseCsv(text, "\t");
    const header = ["StudentID", "Subject", "Grade", "Semester", "Score"];
    return isTable(table, header, 3) && (table ?? []).every((row) => row.every(({ quoted }) => quoted));
  },
  "custom:date_format_list": (text) =>
    text.split(",").every((part) => {
      const [, year = "", month = "", day = ""] = /^(\d{4})-(\d{2})-(\d{2})$/u.exec(part.trim()) ?? [];
      const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
      // The years of Napoleon's life; a day that does not exist becomes another one.
      return (
        Number(year) >= 1769 &&
        Number(year) <= 1821 &&
        date.getUTCMonth() === Number(month) - 1 &&
        date.getUTCDate() === Number(day)
      );
    }),
};

/** Letters without accents. */
function withoutMarks(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "");
}

interface Field {
  readonly text: string;
  readonly quoted: boolean;
}

function isTable(table: readonly Field[][] | null, header: readonly string[], rows: number): boolean {
  return (
    table !== null &&
    table.length === rows + 1 &&
    table[0]?.map(({ text }) => text).join("\n") === header.join("\n") &&
    table.every((row) => row.length === header.length)
  );
}

/** RFC 4180, white space around fields left out. Null when quotation marks do not pair. */
function parseCsv(text: string, delimiter: string): Field[][] | null {
  const rows: Field[][] = [[]];
  const field = new RegExp(`[ ]*(?:"((?:[^"]|"")*)"[ ]*|([^"${delimiter}\\n]*))(${delimiter}|\\n|$)`, "uy");
  const body = text.trim().replaceAll("\r\n", "\n");
  for (let at = 0; ; at = field.lastIndex) {
    field.lastIndex = at;
    const found = field.exec(body);
    if (found === null) return null;
    const [, quoted, bare = "", end] = found;
    rows
      .at(-1)
      ?.push(
        quoted === undefined
          ? { text: bare.trim(), quoted: false }
          : { text: quoted.replaceAll('""', '"'), quoted: true },
      );
    if (end === "\n") rows.push([]);
    if (end === "") return rows;
  }
}
