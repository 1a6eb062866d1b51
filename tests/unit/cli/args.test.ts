import { describe, expect, test } from "vitest";
import { numberOption, onlyOptions, parseOptions } from "../../../ts/cli/arguments/args.ts";
import { RULES } from "../../../ts/cli/arguments/option-rule.ts";
import { wrap } from "../../../ts/cli/output.ts";
import { prlErrorOf } from "../config/support.ts";

const command = {
  name: "trainer",
  options: [
    { flag: "--run-dir", value: "<dir>", summary: "", required: true },
    { flag: "--index", value: "<i>", rule: RULES.index, summary: "" },
    { flag: "--quiet", summary: "" },
  ],
};

describe("options of a plain command", () => {
  test("take their value from the next word or after =, switches take none, the rest are positionals", () => {
    const { options, positionals } = parseOptions(command, [
      "a",
      "--run-dir",
      "d",
      "--index=3",
      "--quiet",
      "-",
      "--",
      "--b",
    ]);
    expect([...options]).toEqual([
      ["--run-dir", "d"],
      ["--index", "3"],
      ["--quiet", "true"],
    ]);
    expect(positionals).toEqual(["a", "-", "--b"]);
    expect([numberOption(options, "--index", 0), numberOption(options, "--attempt", 1)]).toEqual([3, 1]);
  });

  test.each([
    [["--rundir", "d"], "did you mean --run-dir?"],
    [["--run-dir"], "<dir> is missing"],
    [["--run-dir", "d", "--quiet=1"], "takes no value"],
    [["--index", "3"], "--run-dir <dir> is required"],
    [["--zzzzzzzz"], "see prl trainer --help"],
  ])("that are wrong say so: %j", async (args, text) => {
    const error = await prlErrorOf(() => parseOptions(command, args));
    expect(error.code).toBe("PRL_CLI_USAGE");
    expect(error.message).toContain(text);
  });

  test.each(["1.5", "-1", "", "x", "65536", "9".repeat(400)])("must keep their rule: %s", async (text) => {
    const error = await prlErrorOf(() => parseOptions(command, ["--run-dir", "d", "--index", text]));
    expect(error.message).toContain("--index: expected an integer from 0 to 65535, got ");
    expect(error.message.length).toBeLessThan(200);
  });

  test("are all that some commands take", async () => {
    const error = await prlErrorOf(() => onlyOptions(command, ["stray", "--run-dir", "d"]));
    expect(error.message).toBe('prl trainer: takes no "stray"; see prl trainer --help');
  });
});

test("text is wrapped at spaces, and a word too long for a line stands alone", () => {
  expect(wrap("aa bb cccccc d", 5)).toEqual(["aa bb", "cccccc", "d"]);
  expect(wrap("", 5)).toEqual([]);
});
