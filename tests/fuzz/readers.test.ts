/** The readers of foreign bytes under fuzz. `README.md` says what fails, and how to run one of them. */
import { test } from "vitest";

import { IS_LONG } from "../support/form.ts";
import { fuzz } from "./engine/fuzz.ts";
import { TARGETS } from "./targets/index.ts";

test.each(TARGETS.map(({ name }) => name))("%s", async (name) => {
  const { runs, parts, found } = await fuzz(name, { isLong: IS_LONG });
  process.stdout.write(
    `${name}: ${runs} runs, ${parts[0]} to ${parts[1]} parts of the code, ${found} inputs ran more\n`,
  );
});
