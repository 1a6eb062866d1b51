/** Finds the place in the user's code that threw an exception. */
import { fileURLToPath } from "node:url";

/** The package's folder: sources and build output are equally deep below it. */
const OWN = fileURLToPath(new URL("../../../", import.meta.url));
/** Our own code below the package's folder; its examples and tests count as the user's. */
const OWN_CODE = /^(bundle|dist|ts)[/\\]/u;

/** ` (file:line:column)` of the newest frame that is not in our code, Node or a package; "" where the stack has none. */
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
