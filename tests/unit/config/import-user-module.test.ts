import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { importUserModule } from "../../../ts/config/index.ts";
import { MODULE_LOADER, modulePath } from "../../support/compiled.ts";
import { folderWith, prlErrorOf } from "./support.ts";

/** TypeScript that stripping types alone cannot run, with a neighbour named as it will be once compiled. */
const MODULES = {
  "env.ts": `import type { Shape } from "./shape.ts";
import { Kind, Counter } from "./lib.js";
const shape: Shape = { size: Kind.Two };
export default { size: shape.size, count: new Counter(40).value, url: import.meta.url };
export const named = "n" as const;
`,
  "lib.ts": `export enum Kind { One = 1, Two }
export class Counter { constructor(readonly value: number) {} }
`,
  "shape.ts": "export interface Shape { size: number }\n",
  "plain.mjs": "export default 7;\n",
  "broken.ts": "export default {;\n",
  "throws.ts": `throw new Error("at load");\n`,
  "uses-prl.ts": `import { defineEnvironment } from "prl-lm/environments";
export default defineEnvironment;
`,
};

/** Runs a module in a separate Node process, without the test runner's loader but with the one that our sources need. */
async function inNode(folder: string, source: string): Promise<string> {
  const program = `import { importUserModule } from ${JSON.stringify(modulePath("config/index.ts"))};\n${source}`;
  const args = [...MODULE_LOADER, "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 30_000 });
  return stdout.trim();
}

describe("a module of the user", () => {
  test("in TypeScript with relative imports loads on any Node, from any folder, under its own URL", async () => {
    const folder = folderWith(MODULES);
    const output = await inNode(folder, `console.log(JSON.stringify(await importUserModule("./env.ts")));`);
    const url = pathToFileURL(join(folder, "env.ts")).href;
    expect(JSON.parse(output)).toEqual({ size: 2, count: 40, url });
  });

  test("gets the running package when it imports prl, though its folder has none", async () => {
    const folder = folderWith(MODULES);
    const own = JSON.stringify(modulePath("environments/index.ts"));
    const program = `const { defineEnvironment } = await import(${own});
      console.log((await importUserModule("./uses-prl.ts")) === defineEnvironment);`;
    expect(await inNode(folder, program)).toBe("true");
  });

  test("gives the default export, or the one after #", async () => {
    const folder = folderWith(MODULES);
    expect(await importUserModule("./plain.mjs", folder)).toBe(7);
    expect(await importUserModule("env.ts#named", folder)).toBe("n");
    expect(await importUserModule(join(folder, "env.ts#named"), "/")).toBe("n");
  });

  test("that does not compile or throws is reported with its cause", async () => {
    const folder = folderWith(MODULES);
    const program = `for (const file of ["./broken.ts", "./throws.ts"])
      await importUserModule(file).catch((error) => console.log(JSON.stringify([error.code, error.message, error.cause.message])));`;
    const [broken, throwing] = (await inNode(folder, program)).split("\n").map((line) => JSON.parse(line) as string[]);
    expect(broken?.[0]).toBe("PRL_USER_MODULE");
    expect(broken?.[1]).toContain(join(folder, "broken.ts"));
    expect(broken?.[2]).toContain("broken.ts");
    expect(throwing?.slice(0, 3)).toMatchObject(["PRL_USER_MODULE", expect.stringContaining("throws.ts"), "at load"]);
  });

  test.each([
    ["./gone.ts", "no such file"],
    ["./env.js", "env.ts?"],
    ["./env.ts#nmaed", "did you mean #named?"],
    ["./lib.ts", "no default export; it exports Counter, Kind"],
    [".", "is a folder"],
    ["./notes.md", "is no module"],
  ])("that cannot be had says why: %s", async (reference, text) => {
    const folder = folderWith({ ...MODULES, "notes.md": "" });
    const error = await prlErrorOf(importUserModule(reference, folder));
    expect(error.code).toBe("PRL_USER_MODULE");
    expect(error.message).toContain(text);
  });
});
