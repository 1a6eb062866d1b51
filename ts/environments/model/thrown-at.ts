/** Where in the user's code an exception came from. */
import { fileURLToPath } from "node:url";

/** Sources and build output lie equally deep below it. */
const OWN = fileURLToPath(new URL("../../../", import.meta.url));
/** Below the package's folder, what is the user's all the same: its examples and tests. */
const OWN_CODE = /^(dist|ts)[/\\]/u;

/** ` (file:line:column)` of the newest frame that is neither ours nor Node's nor a package's; "" where the stack has none. */
export function thrownAt(error: unknown): string {
  if (!(error instanceof Error) || error.stack === undefined) return "";
  for (const line of error.stack.split("\n")) {
    const [, place = "", row, column] = /[\s(]((?:file:\/\/)?\/[^():]+):(\d+):(\d+)\)?$/u.exec(line.trim()) ?? [];
    if (row === undefined) continue;
    const file = place.startsWith("file:") ? fileURLToPath(place) : place;
    if (file.includes("/node_modules/")) continue;
    if (file.startsWith(OWN) && OWN_CODE.test(file.slice(OWN.length))) continue;
    return ` (${file}:${row}:${column})`;
  }
  return "";
}
