/** IFBench's checks that are whole tasks, by the rules of its grader. */
import { EUROPEAN_CAPITALS, type Instruction } from "../../../../verify/internal.ts";
import { csvRows } from "./csv.ts";
import { gradedSentences, pieces, plain, trimmed, unmarked } from "./text.ts";

const AFRICAN_COUNTRIES_AT_LEAST = 52;
const DAYS: readonly number[] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export const TASK_CHECKS: Readonly<Record<string, Instruction>> = {
  "custom:multiples": (text) => (text.match(/\p{Nd}+/gu) ?? []).join(" ") === "14 21 28 35 42 49",
  "custom:mcq_count_length": (text) => {
    if (!text.startsWith("Question")) return false;
    const lengths = text
      .split(/\n*Question \p{Nd}+[.|):;]?\s*/u)
      .map((question) => question.trim())
      .filter((question) => question !== "")
      .map(lengthOfQuestion);
    return lengths.length === 4 && lengths.every((length, index) => length > (lengths[index - 1] ?? -1));
  },
  "custom:reverse_newline": (text) => {
    const lines = text
      .split("\n")
      .map(trimmed)
      .filter((line) => line !== "");
    const first = lines.findIndex((line) => line.includes("Zimbabwe"));
    const names = first < 0 ? [] : lines.slice(first).map(plain);
    return (
      names.length >= AFRICAN_COUNTRIES_AT_LEAST && names.every((name, at) => at === 0 || name <= (names[at - 1] ?? ""))
    );
  },
  "custom:word_reverse": (text) => {
    const turned = pieces(unmarked(text.toLowerCase().trim())).toReversed().join(" ");
    return turned.includes("bald eagle") && gradedSentences(turned).includes(turned);
  },
  "custom:character_reverse": (text) => text.toLowerCase().includes("elgae dlab"),
  "custom:sentence_alphabet": (text) => {
    const sentences = gradedSentences(text);
    return (
      sentences.length === 26 &&
      sentences.every((sentence, index) => sentence.toLowerCase().charCodeAt(0) === 97 + index)
    );
  },
  "custom:european_capitals_sort": (text) => {
    const named = plain(text)
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    return named.join(",") === EUROPEAN_CAPITALS.join(",");
  },
  "custom:csv_city": (text) => {
    const [header = [], ...rows] = csvRows(text, ",");
    const isNamed = header.join("\n") === ["ID", "Country", "City", "Year", "Count"].join("\n");
    return isNamed && rows.length === 7 && rows.every((row) => row.length === 5);
  },
  // One row with such a field is enough; rows behind it are not looked at.
  "custom:csv_special_character": (text) => {
    if (!isHeader(text, ["ProductID", "Category", "Brand", "Price", "Stock"], ",[ \\t]*")) return false;
    const [, ...rows] = csvRows(marksKept(text), ",");
    if (rows.length !== 14) return false;
    for (const row of rows) {
      if (row.length !== 5) return false;
      if (row.some((field) => /^".*[^\p{L}\p{N}_\s].*"/u.test(field))) return true;
    }
    return false;
  },
  "custom:csv_quotes": (text) => {
    if (!isHeader(text, ["StudentID", "Subject", "Grade", "Semester", "Score"], "\\t *")) return false;
    const rows = csvRows(marksKept(text), "\t");
    const isQuoted = (field: string): boolean => field.trim().startsWith('"') && field.trim().endsWith('"');
    return rows.length === 4 && rows.every((row) => row.length === 5 && row.every(isQuoted));
  },
  "custom:date_format_list": (text) =>
    text
      .trim()
      .split(",")
      .every((part) => {
        const [, year, month, day] = /^(\p{Nd}{4})-(\p{Nd}{2})-(\p{Nd}{2})$/u.exec(part.trim()) ?? [];
        // The years of Napoleon's life. A month or a day of zero passes.
        return (
          Number(year) >= 1769 &&
          Number(year) <= 1821 &&
          Number(month) <= 12 &&
          Number(day) <= (DAYS[Number(month) - 1] ?? Infinity)
        );
      }),
};

/** Length of the question before its options; NaN unless there are five of them. */
function lengthOfQuestion(question: string): number {
  const isOption = (line: string): boolean => /^[A-Ea-e][.|)]\s*[\p{L}\p{N}_]+/u.test(line.trim());
  const lines = question.split("\n");
  const first = lines.findIndex(isOption);
  if (lines.filter(isOption).length !== 5) return Number.NaN;
  const asked = lines.slice(0, first).map((line) => line.trim());
  return Array.from(asked.join(" ").trim()).length;
}

function isHeader(text: string, names: readonly string[], separator: string): boolean {
  const columns = names.map((name) => `(?:${name}|"${name}")`);
  return new RegExp(`^${columns.join(separator)}$`, "u").test((text.split("\n")[0] ?? "").trim());
}

/** With marks of quotation tripled, a field that has them keeps one at each end. */
function marksKept(text: string): string {
  return text.replaceAll('"', '"""');
}
