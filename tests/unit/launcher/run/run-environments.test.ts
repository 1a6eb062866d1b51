/** A run records the environment packages that it uses, and is not resumed with others. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { EnvironmentOrigin } from "../../../../ts/environments/internal.ts";
import { lockEnvironments } from "../../../../ts/launcher/run/run-environments.ts";

let dir: string;
let run: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "prl-run-environments-")));
  run = join(dir, "run");
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A package as npm has it after an installation, with npm's record of it. */
function installed(name: string, version: string, dependency = "1.0.0"): EnvironmentOrigin {
  const home = join(dir, "node_modules", name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), JSON.stringify({ name, version }));
  writeFileSync(join(home, "index.js"), "export default 1;\n");
  const packages = {
    [`node_modules/${name}`]: { version, integrity: `sha512-${version}`, dependencies: { words: "*" } },
    "node_modules/words": {
      version: dependency,
      integrity: `sha512-words-${dependency}`,
      dependencies: { [name]: "*" },
    },
  };
  writeFileSync(join(dir, "node_modules/.package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
  return { kind: "package", name, version, dir: home };
}

const lock = (origins: readonly EnvironmentOrigin[], isResumed: boolean) =>
  lockEnvironments(
    run,
    origins.map((origin) => ({ origin })),
    isResumed,
  );

describe("the environments of a run", () => {
  test("are recorded with version, integrity, files and dependencies", async () => {
    await lock([installed("loud", "1.0.0"), { kind: "builtin" }, { kind: "path", path: "/x.ts" }], false);
    expect(JSON.parse(readFileSync(join(run, "configs/environments.lock"), "utf8"))).toEqual({
      format: 1,
      environments: {
        loud: {
          version: "1.0.0",
          integrity: "sha512-1.0.0",
          content: expect.stringMatching(/^sha256-/u),
          dependencies: { words: "1.0.0 sha512-words-1.0.0" },
        },
      },
    });
    await expect(lock([installed("loud", "1.0.0")], true)).resolves.toBeUndefined();
  });

  test("that have another version, other files or other dependencies are refused by a resume", async () => {
    const first = installed("loud", "1.0.0");
    await lock([first], false);
    const drift = (difference: string) => ({ code: "PRL_RUN_DRIFT", message: expect.stringContaining(difference) });
    await expect(lock([installed("loud", "1.1.0")], true)).rejects.toMatchObject(drift("1.1.0 instead of 1.0.0"));
    await expect(lock([installed("loud", "1.0.0", "2.0.0")], true)).rejects.toMatchObject(drift("dependency words"));
    const again = installed("loud", "1.0.0");
    writeFileSync(join(dir, "node_modules/loud/index.js"), "export default 2;\n");
    await expect(lock([again], true)).rejects.toMatchObject(drift("its files were changed"));
    installed("loud", "1.0.0");
    await expect(lock([again], true)).resolves.toBeUndefined();
  });

  test("that are new in this attempt, or in folders of their own, are not compared", async () => {
    await lock([installed("loud", "1.0.0")], false);
    const linked = join(dir, "linked");
    await lock([{ kind: "package", name: "linked", version: "1.0.0", dir: linked }], true);
    await lock([installed("other", "1.0.0")], true);
  });

  test("are not compared with a record that is damaged", async () => {
    await lock([installed("loud", "1.0.0")], false);
    writeFileSync(join(run, "configs/environments.lock"), "{");
    await expect(lock([installed("loud", "1.0.0")], true)).rejects.toMatchObject({ code: "PRL_RUN_DRIFT" });
  });
});
