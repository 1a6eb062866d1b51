import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { configJsonSchema, formatFlag, loadConfig, parseConfigArguments } from "../../../ts/config/index.ts";
import { inputSchemas } from "../../../ts/config/schema/index.ts";
import { entries, typeText } from "../../../ts/config/keys/schema-walk.ts";
import { folderWith, prlErrorOf, RL_TOML } from "./support.ts";

const parse = (...tokens: string[]) => parseConfigArguments("rl", tokens);
const values = (...tokens: string[]) => parse(...tokens).overrides.map(({ path, value }) => [path.join("."), value]);

describe("files", () => {
  test("are plain words, words after @ and words after --", () => {
    expect(parse("a.toml", "b.toml").files).toEqual(["a.toml", "b.toml"]);
    expect(parse("@", "a.toml", "@", "b.toml", "@c.toml").files).toEqual(["a.toml", "b.toml", "c.toml"]);
    expect(parse("a.toml", "--", "--odd.toml").files).toEqual(["a.toml", "--odd.toml"]);
  });

  test("after a section flag and @ are merged at that section", () => {
    expect(parse("--trainer", "@", "t.toml", "a.toml", "--trainer.optim", "@", "o.toml").files).toEqual([
      { file: "t.toml", at: ["trainer"] },
      "a.toml",
      { file: "o.toml", at: ["trainer", "optim"] },
    ]);
  });
});

describe("flags", () => {
  test.each<[string[], [string, unknown][]]>([
    [["--orchestrator.batch-size", "64"], [["orchestrator.batch_size", 64]]],
    [["--orchestrator.batch-size=64"], [["orchestrator.batch_size", 64]]],
    [["--orchestrator.batch_size", "64"], [["orchestrator.batch_size", 64]]],
    [["--trainer.optim.lr", "1e-5"], [["trainer.optim.lr", 1e-5]]],
    [["--orchestrator.eval.num-examples", "-1"], [["orchestrator.eval.num_examples", -1]]],
    [["--model", "./m"], [["model", { name: "./m" }]]],
    [["--model.name", "./m"], [["model.name", "./m"]]],
    [["--exp-id", "x"], [["run.name", "x"]]],
    [["--trainer-gpus", "2"], [["trainer.ranks", 2]]],
    [["--clean"], [["clean", true]]],
    [["--no-clean"], [["clean", false]]],
    [["--clean", "false", "a.toml"], [["clean", false]]],
    [["--clean", "a.toml"], [["clean", true]]],
    [["--no-orchestrator.filter-zero-advantages"], [["orchestrator.filter_zero_advantages", false]]],
    [["--orchestrator.no-filter-zero-advantages"], [["orchestrator.filter_zero_advantages", false]]],
    [["--no-orchestrator.eval"], [["orchestrator.eval", null]]],
    [["--orchestrator.eval", "None"], [["orchestrator.eval", null]]],
    [["--orchestrator.eval"], [["orchestrator.eval", {}]]],
    [["--orchestrator.eval", '{"interval": 3}'], [["orchestrator.eval", { interval: 3 }]]],
    [["--max-steps", "None"], [["max_steps", null]]],
    [["--trainer.optim.betas", "0.9", "0.95", "a.toml"], [["trainer.optim.betas", [0.9, 0.95]]]],
    [["--trainer.optim.betas", "[0.9, 0.95]"], [["trainer.optim.betas", [0.9, 0.95]]]],
    [["--orchestrator.train.source.0.env.id", "x"], [["orchestrator.train.source.0.env.id", "x"]]],
    [
      ["--orchestrator.train.source", '[{"env": {"id": "x"}}]'],
      [["orchestrator.train.source", [{ env: { id: "x" } }]]],
    ],
    [["--orchestrator.train.source.0.env.args", '{"n": 1}'], [["orchestrator.train.source.0.env.args", { n: 1 }]]],
    [["--orchestrator.train.source.0.env.args.a-b", "0.5"], [["orchestrator.train.source.0.env.args.a-b", 0.5]]],
    [["--orchestrator.train.source.0.env.args.word", "w"], [["orchestrator.train.source.0.env.args.word", "w"]]],
    [["--orchestrator.algo.singleton", "raw"], [["orchestrator.algo.singleton", "raw"]]],
    [["--orchestrator.algo.singleton", "0"], [["orchestrator.algo.singleton", 0]]],
    [
      ["--seed", "1", "--seed", "2"],
      [
        ["seed", 1],
        ["seed", 2],
      ],
    ],
  ])("%j", (tokens, expected) => {
    expect(values(...tokens)).toEqual(expected);
  });

  test("of the command itself come before config keys and are kept apart", () => {
    const options = [{ flag: "--dry-run" }, { flag: "--resume", value: "<run>" }];
    const parsed = parseConfigArguments("rl", ["--dry-run", "a.toml", "--resume=x", "--seed", "1"], options);
    expect([...parsed.options]).toEqual([
      ["--dry-run", "true"],
      ["--resume", "x"],
    ]);
    expect(parsed.files).toEqual(["a.toml"]);
    expect(parsed.overrides).toHaveLength(1);
  });

  test.each([
    [["--orchestrator.batch-sise", "3"], "did you mean --orchestrator.batch-size?"],
    [["--batch-size", "3"], "did you mean --orchestrator.batch-size?"],
    [["--orchestrator.train.source.0.rato", "3"], "did you mean --orchestrator.train.source.<i>.ratio?"],
    [["--dry-rnu"], "did you mean --dry-run?"],
    [["--completely-different"], "see --help"],
    [["--max-steps", "ten"], 'expected integer or "None", got "ten"'.replace(' or "None"', "")],
    [["--max-steps"], "a value is missing (integer)"],
    [["--clean=maybe"], 'expected boolean, got "maybe"'],
    [["--orchestrator.eval", "{bad"], "as JSON"],
    [["--trainer.optim", "@"], "a file name is missing"],
    [["--seed", "@", "a.toml"], "not a file"],
    [["-x"], "two dashes"],
    [["--no-seed"], "unknown flag"],
    [["--trainer.optim.betas", "a", "b"], 'expected number, got "a"'],
  ])("that are wrong say so: %j", async (tokens, text) => {
    const error = await prlErrorOf(() => parseConfigArguments("rl", tokens, [{ flag: "--dry-run" }]));
    expect(error.code).toBe("PRL_CLI_USAGE");
    expect(error.message).toContain(text);
  });

  test("reach into a list of the file, append to it, and refuse a gap", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const options = { kind: "rl", env: {}, cwd } as const;
    const flags = ["--orchestrator.train.source.0.ratio", "3", "--orchestrator.train.source.1.env.id", "b"];
    const { config } = await loadConfig(["rl.toml"], flags, options);
    expect(config.orchestrator.train.source.map(({ name, ratio }) => [name, ratio])).toEqual([
      ["reverse-text", 3],
      ["b", 1],
    ]);
    const gap = loadConfig(["rl.toml"], ["--orchestrator.train.source.4.ratio", "3"], options);
    expect((await prlErrorOf(gap)).message).toContain(
      "orchestrator.train.source has 1 elements: the next one is 1, not 4",
    );
  });
});

describe("for every key of the schema", () => {
  const scalars = [...entries(inputSchemas.rl)].filter(({ path, schema }) => {
    return !path.includes("<i>") && ["integer", "number", "string", "boolean"].includes(typeText(schema));
  });
  const wordFor = (type: string) =>
    type === "integer"
      ? fc.integer().map((value): [string, unknown] => [String(value), value])
      : type === "number"
        ? fc
            .double({ noNaN: true, noDefaultInfinity: true })
            .map((value): [string, unknown] => [String(value), Number(String(value))])
        : type === "boolean"
          ? fc.boolean().map((value): [string, unknown] => [String(value), value])
          : fc
              .string({ minLength: 1 })
              .filter((word) => word !== "None")
              .map((word): [string, unknown] => [word, word]);
  const flag = fc
    .constantFrom(...scalars)
    .chain(({ path, schema }) => wordFor(typeText(schema)).map(([word, value]) => ({ path, word, value })));

  test("a flag with = gives its value back, typed by the schema, whatever stands around it", () => {
    fc.assert(
      fc.property(fc.array(flag), fc.array(fc.constantFrom("a.toml", "b.toml")), (flags, files) => {
        const tokens = [...files, ...flags.map(({ path, word }) => `${formatFlag(path)}=${word}`)];
        const parsed = parse(...tokens);
        expect(parsed.files).toEqual(files);
        expect(parsed.overrides.map(({ path, value }) => ({ path, value }))).toEqual(
          flags.map(({ path, value }) => ({ path, value })),
        );
      }),
    );
  });

  test("no arguments whatever crash the parser: they parse or are a usage error", () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(
        "--",
        "@",
        "--trainer",
        "--model",
        "--no-",
        "--orchestrator.train.source.0",
        "None",
        "{}",
        "[]",
        "=",
      ),
    );
    fc.assert(
      fc.property(fc.array(word), (tokens) => {
        try {
          parse(...tokens);
        } catch (error) {
          expect(error).toMatchObject({ code: "PRL_CLI_USAGE" });
        }
      }),
    );
  });

  test("there is a description", () => {
    for (const kind of ["rl", "sft", "eval"] as const) {
      const bare = [...entries(inputSchemas[kind])]
        .filter(({ node }) => node.description === "")
        .map(({ path }) => path.join("."));
      expect(bare).toEqual([]);
    }
  });
});

describe("JSON Schema", () => {
  test.each(["rl", "sft", "eval"] as const)("of %s has every key, closed objects, and no marks of ours", (kind) => {
    const schema = configJsonSchema(kind);
    const text = JSON.stringify(schema);
    expect(text).not.toMatch(/relativeTo|shorthand/);
    for (const { path } of entries(inputSchemas[kind])) expect(text).toContain(`"${path.at(-1)}"`);
    expect(schema).toMatchObject({
      type: "object",
      additionalProperties: false,
      properties: { seed: { type: "integer", default: 0 } },
    });
    const required = { rl: ["model", "orchestrator"], sft: ["max_steps", "model", "data"], eval: ["eval"] };
    expect(schema["required"]).toEqual(required[kind]);
  });
});
