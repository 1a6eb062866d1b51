/** The environments that come with prl, by id; each is loaded when it is asked for. */
import type { Environment } from "../environment.ts";

export const BUILTIN: ReadonlyMap<string, () => Promise<{ default: Environment }>> = new Map([
  ["reverse-text", () => import("./reverse-text/index.ts")],
]);
