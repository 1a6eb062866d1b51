/** Plain-text tables: a header, a rule, rows; numbers are aligned to the right, the first column to the left. */

/** Lines of a table whose columns are as wide as their widest cell; every row has as many cells as the header. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = header.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? "")].map(visibleWidth)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const space = " ".repeat((widths[column] ?? 0) - visibleWidth(cell));
        return column === 0 ? cell + space : space + cell;
      })
      .join("  ")
      .trimEnd();
  return [line(header), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(line)];
}

/** Code points; our tables hold no wide or combining characters. */
function visibleWidth(text: string): number {
  return Array.from(text).length;
}
