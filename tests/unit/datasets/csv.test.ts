import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { csvRecords, csvRows } from "../../../ts/datasets/csv.ts";
import { IS_LONG } from "../../support/form.ts";

async function fieldsOf(pieces: Iterable<string>, delimiter = ","): Promise<(readonly string[])[]> {
  const records: (readonly string[])[] = [];
  for await (const { fields } of csvRecords(pieces, delimiter)) records.push(fields);
  return records;
}

async function rowsOf(text: string): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const { row } of csvRows([text])) rows.push(row);
  return rows;
}

describe("records of RFC 4180", () => {
  it.each<[string, string[][]]>([
    ["", []],
    ["a", [["a"]]],
    ["a\n", [["a"]]],
    [
      "a,b\r\nc,d\r\n",
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
    ["a,,\n", [["a", "", ""]]],
    ["\n", [[""]]],
    ["\r\n\r\n", [[""], [""]]],
    ['""', [[""]]],
    ['"a,b","c\r\nd","e""f"\n', [["a,b", "c\r\nd", 'e"f']]],
    ['""""\n', [['"']]],
    ['5" nails,x\n', [['5" nails', "x"]]],
    ["a\rb,c\n", [["a\rb", "c"]]],
    ["a\r", [["a\r"]]],
    [",\n", [["", ""]]],
  ])("%j", async (text, records) => {
    expect(await fieldsOf([text])).toEqual(records);
    expect(await fieldsOf(text)).toEqual(records);
  });

  it("come back as they were written, cut anywhere, with any delimiter and either line end", async () => {
    const field = fc.oneof(fc.string(), fc.stringMatching(/^[a",;\r\n\t ]{0,8}$/u), fc.string({ unit: "grapheme" }));
    const record = fc.array(field, { minLength: 1, maxLength: 5 });
    const property = fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(",", ";", "\t"),
      fc.constantFrom("\n", "\r\n"),
      fc.boolean(),
      fc.array(fc.nat(), { maxLength: 8 }),
      async (records, delimiter, lineEnd, ended, cuts) => {
        const quoted = (text: string): string =>
          /["\r\n]/u.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
        const lines = records.map((fields) => fields.map(quoted).join(delimiter));
        const last = records.at(-1) ?? [];
        // Nothing at all at the end is no record.
        const needsEnd = ended || (last.length === 1 && last[0] === "");
        const text = lines.join(lineEnd) + (needsEnd ? lineEnd : "");
        const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((place, index) => text.slice(places[index], place));
        expect(await fieldsOf(pieces, delimiter)).toEqual(records);
      },
    );
    await fc.assert(property, { numRuns: IS_LONG ? 20_000 : 500 });
  });

  it("a text of any kind is read or refused with its line, and does not hang", async () => {
    const junk = fc.array(fc.constantFrom('"', ",", "\r", "\n", "a", '""', '"a"'), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(junk, async (pieces) => {
        const whole = await fieldsOf([pieces.join("")]).catch((error: unknown) => String(error));
        expect(await fieldsOf(pieces).catch((error: unknown) => String(error))).toEqual(whole);
        if (typeof whole === "string") expect(whole).toMatch(/line \d+: .*quote/u);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a,b\n"c"d,e\n', 'line 2: "d" behind a closing quote'],
    ['a\n\n"b\nc', "line 3: a quote is never closed"],
    ['"a"\rb', "behind a closing quote"],
  ])("%j is refused", async (text, message) => {
    await expect(fieldsOf([text])).rejects.toThrow(message);
    await expect(fieldsOf([text])).rejects.toMatchObject({ code: "PRL_DATA_FORMAT" });
  });
});

describe("rows", () => {
  it("are objects by the header, without a byte order mark and empty lines", async () => {
    expect(await rowsOf("\uFEFFq,a\n1,2\n\n3,\n")).toEqual([
      { q: "1", a: "2" },
      { q: "3", a: "" },
    ]);
  });

  it.each([
    ["a,b\n1\n", "line 2: 1 fields, and the header has 2"],
    ["a,b\n1,2\n1,2,3\n", "line 3: 3 fields"],
    ["a,a\n", 'names the column "a" twice'],
  ])("%j is refused", async (text, message) => {
    await expect(rowsOf(text)).rejects.toThrow(message);
  });
});
