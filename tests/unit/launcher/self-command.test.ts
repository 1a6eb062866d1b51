import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

import { selfCommand } from "../../../ts/self-command.ts";

describe("selfCommand", () => {
  it("runs the command line from sources", async () => {
    const { command, args } = selfCommand();
    const { stdout } = await promisify(execFile)(command, [...args, "--help"]);
    expect(stdout).toMatch(/\brl\b/);
  });

  it("needs no loader when built", () => {
    const built = pathToFileURL(join("/app", "dist/self-command.js")).href;
    expect(selfCommand(built)).toEqual({ command: process.execPath, args: ["/app/dist/cli/main.js"] });
  });
});
