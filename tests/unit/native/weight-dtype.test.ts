import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type WeightDtypeChoice, weightDtype } from "../../../ts/native/weight-dtype.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-dtype-"));
});
afterEach(() => rm(dir, { recursive: true }));

describe("weightDtype", () => {
  test.each([
    [{ dtype: "bfloat16" }, "bfloat16"],
    [{ torch_dtype: "bfloat16" }, "bfloat16"],
    [{ dtype: "float32", torch_dtype: "bfloat16" }, "float32"],
    [{ torch_dtype: "float16" }, "float32"],
    [{}, "float32"],
  ])("auto takes the format of %j: %s", async (config, expected) => {
    await writeFile(join(dir, "config.json"), JSON.stringify(config));
    expect(await weightDtype("auto", dir)).toBe(expected);
    expect(await weightDtype("float32", dir)).toBe("float32");
    expect(await weightDtype("bfloat16", dir)).toBe("bfloat16");
  });

  test("names what it cannot have", async () => {
    await expect(weightDtype("int8" as WeightDtypeChoice, dir)).rejects.toMatchObject({
      code: "PRL_ENGINE_DTYPE_UNSUPPORTED",
    });
  });

  test("leaves a config.json that cannot be read to the loading of the model", async () => {
    expect(await weightDtype("auto", dir)).toBe("float32");
    await writeFile(join(dir, "config.json"), "{");
    expect(await weightDtype("auto", dir)).toBe("float32");
    await writeFile(join(dir, "config.json"), "null");
    expect(await weightDtype("auto", dir)).toBe("float32");
  });
});
