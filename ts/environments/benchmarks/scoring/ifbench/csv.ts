/** Python's `csv.reader` in its default dialect: a mark of quotation counts only as the first sign of a field, and is doubled inside. */

/** Rows of fields; an empty line is an empty row. */
export function csvRows(text: string, delimiter: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field: string | null = null;
  let isQuoted = false;
  const endRow = (): void => {
    if (field !== null || row.length > 0) row.push(field ?? "");
    rows.push(row);
    [row, field] = [[], null];
  };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? "";
    if (isQuoted) {
      if (sign !== '"') field += sign;
      else if (text[at + 1] === '"') {
        field += sign;
        at += 1;
      } else isQuoted = false;
    } else if (sign === '"' && field === null) [isQuoted, field] = [true, ""];
    else if (sign === delimiter) {
      row.push(field ?? "");
      field = null;
      // Text behind a delimiter is a field, even when it is empty.
      if (text[at + 1] === "\n" || at + 1 === text.length) field = "";
    } else if (sign === "\n") endRow();
    else field = (field ?? "") + sign;
  }
  if (field !== null || row.length > 0) endRow();
  return rows;
}
