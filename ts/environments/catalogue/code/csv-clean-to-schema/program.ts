/** The gold program: Python's csv module reads the file, and each column has its statements. */
import { py } from "../json.ts";
import { CANCEL, COMMENT, DITTO, END_MARK, TOTAL } from "./corruptions/files.ts";
import { cellCorruptions, isMapped, type Spec, undoneBy } from "./spec.ts";
import type { Column, ColumnType } from "./table.ts";

type Settings = ReadonlyMap<string, string>;

export function programOf(spec: Spec): string {
  const settings = undoneBy(spec);
  const { columns, ignored } = spec;
  const key = columns.findIndex(({ type }) => type === "key");
  const nulls = ["", ...(settings.get("null-words")?.split(" ") ?? [])];
  return `import csv
import datetime
import io
import re
import unicodedata

NAMES = [${columns.map(({ name }) => py(name)).join(", ")}]
NULLS = {${nulls.map(py).join(", ")}}
KEY = ${key}


${columns.map((column, index) => functionOf(column, index, spec)).join("\n\n\n")}


COLUMNS = [${columns.map((_, index) => `column_${index}`).join(", ")}]


def styled(name):
    return ${settings.has("header-style") ? 'name.lower().replace(" ", "_").replace("-", "_")' : "name"}


def is_header(record):
    return set(NAMES) <= {styled(name) for name in record}


def clean(text):
${indented(readerLines(settings))}
${indented(headerLines(settings))}
    rows, above = [], [None] * len(NAMES)
    for record in records:
${indented(recordLines(settings, ignored), 2)}
    return ${settings.has("unsorted") ? "sorted(rows, key=lambda row: row[KEY])" : "rows"}
`;
}

function indented(lines: readonly string[], depth = 1): string {
  return lines.map((line) => `${"    ".repeat(depth)}${line}`).join("\n");
}

function functionOf(column: Column, index: number, { ignored, ...spec }: Spec): string {
  const settings = undoneBy(ignored === undefined ? spec : { ...spec, ignored });
  const statements = cellCorruptions(column, settings)
    .toReversed()
    .flatMap(([one, setting]) => [...one.python(setting, column)]);
  const codes = column.codes.length === 0 ? [] : [`codes = [${column.codes.map(py).join(", ")}]`];
  return `def column_${index}(cell):\n${indented([...codes, ...statements, ...valueLines(column.type, ignored === "cents")])}`;
}

function valueLines(type: ColumnType, isWhole: boolean): string[] {
  switch (type) {
    case "key":
    case "count":
      return ['return int(cell) if re.fullmatch("-?[0-9]+", cell) else cell'];
    case "money":
      return [
        'if not re.fullmatch(r"-?[0-9]+\\.[0-9]{2}", cell):',
        "    return cell",
        isWhole ? "return int(float(cell))" : 'return int(cell.replace(".", ""))',
      ];
    case "flag":
      return ['return {"true": True, "false": False}.get(cell, cell)'];
    default:
      return ["return cell"];
  }
}

function readerLines(settings: Settings): string[] {
  const sign = settings.get("delimiter");
  const options = [
    settings.has("backslash-quotes") ? ', escapechar="\\\\"' : "",
    settings.has("spaces-after-delimiter") ? ", skipinitialspace=True" : "",
  ].join("");
  return [
    'delimiter = ","',
    ...(settings.has("byte-order-mark") ? ['text = text.removeprefix("\\ufeff")'] : []),
    ...(settings.has("record-sign") ? ['text = text.replace("\\x1e", "\\n")'] : []),
    ...(settings.has("end-mark") ? [`text = text.split(${py(`${END_MARK}\n`)})[0]`] : []),
    ...(settings.has("sep-line") ? ['if text.startswith("sep="):', "    delimiter, text = text[4], text[6:]"] : []),
    ...(sign === undefined ? [] : [`if ${py(sign)} in text:`, `    delimiter = ${py(sign)}`]),
    `records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter${options}))`,
  ];
}

function headerLines(settings: Settings): string[] {
  return [
    ...(settings.has("preamble") ? ["while not is_header(records[0]):", "    records.pop(0)"] : []),
    isMapped(settings)
      ? "places = [[styled(name) for name in records[0]].index(name) for name in NAMES]"
      : "places = list(range(len(NAMES)))",
    "records.pop(0)",
  ];
}

function recordLines(settings: Settings, ignored: string | undefined): string[] {
  const skips = [
    ...(settings.has("blank-lines") ? ["not any(record)"] : []),
    ...(settings.has("comments") ? [`record[0].startswith(${py(COMMENT)})`] : []),
    ...(settings.has("total-line") ? [`record[0] == ${py(TOTAL)}`] : []),
    ...(settings.has("repeated-header") ? ["is_header(record)"] : []),
  ];
  const cancels = settings.has("cancellations");
  return [
    ...(skips.length === 0 ? [] : [`if ${skips.join(" or ")}:`, "    continue"]),
    ...(settings.has("short-records") ? ['record += [""] * (max(places) + 1 - len(record))'] : []),
    "cells = [record[place] for place in places]",
    ...(cancels
      ? [`cancels = cells[KEY].endswith(${py(CANCEL)})`, "if cancels:", "    cells[KEY] = cells[KEY][:-1]"]
      : []),
    "row = []",
    "for index, cell in enumerate(cells):",
    ...(settings.has("ditto")
      ? [`    if cell == ${py(DITTO)}:`, "        row.append(above[index])", "        continue"]
      : []),
    `    row.append(${ignored === "empty-is-null" ? "cell" : "None"} if cell in NULLS else COLUMNS[index](cell))`,
    "above = row",
    "place = next((index for index, other in enumerate(rows) if other[KEY] == row[KEY]), None)",
    ...(cancels ? ["if cancels:", "    if place is not None:", "        rows.pop(place)", "    continue"] : []),
    ...(settings.has("corrections")
      ? ["if place is not None:", "    rows[place] = row", "    continue"]
      : settings.has("duplicates")
        ? ["if place is not None:", "    continue"]
        : []),
    "rows.append(row)",
  ];
}
