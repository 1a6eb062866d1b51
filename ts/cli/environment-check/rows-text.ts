/** The rows of `prl env test` as a table. */
import type { CheckRow } from "../../environments/internal.ts";
import { renderTable } from "../../monitors/index.ts";

/** Most failures of one check that are shown. */
const SHOWN = 3;
const MESSAGE_LENGTH = 200;

export function rowsText(rows: readonly CheckRow[]): string[] {
  const lines = rows.flatMap(({ part, check, status, what, failures }) => {
    if (failures.length === 0) return [[part, check, status, line(what)]];
    const shown = failures.slice(0, SHOWN).map(({ split, task, message }, at): string[] => {
      const where = [split, task === null ? null : `task ${task}`].filter((each) => each !== null).join(" ");
      const text = line(where === "" ? message : `${where}: ${message}`);
      return at === 0 ? [part, check, status, text] : ["", "", "", text];
    });
    const more = failures.length - SHOWN;
    return more > 0 ? [...shown, ["", "", "", `... and ${more} more (--json has all)`]] : shown;
  });
  const header = ["part", "check", "result", "what"];
  const widths = header.map((title, at) => Math.max(title.length, ...lines.map((cells) => cells[at]?.length ?? 0)));
  const padded = (cells: readonly string[]): string[] => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0));
  return renderTable(padded(header), lines.map(padded)).map((text) => text.trimEnd());
}

/** One line with the counts, `failed: a, b` at its end where something failed. */
export function countsText(rows: readonly CheckRow[]): string {
  const of = (status: CheckRow["status"]): CheckRow[] => rows.filter((row) => row.status === status);
  const names = (found: readonly CheckRow[]): string => found.map(({ check }) => check).join(", ");
  const [failed, unchecked] = [of("failed"), of("not checked")];
  return [
    `${of("passed").length} passed`,
    ...(unchecked.length === 0 ? [] : [`${unchecked.length} not checked`]),
    failed.length === 0 ? "none failed" : `${failed.length} failed: ${names(failed)}`,
  ].join(", ");
}

function line(text: string): string {
  const single = text.replaceAll(/\s+/gu, " ").trim();
  return single.length > MESSAGE_LENGTH ? `${single.slice(0, MESSAGE_LENGTH)}...` : single;
}
