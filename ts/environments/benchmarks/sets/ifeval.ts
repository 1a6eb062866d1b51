/** IFEval: 541 prompts with 25 kinds of instructions that a program can check (Zhou et al., 2023); IFBench: 300 with 58 more kinds (Pyatkin et al., 2025). */
import { z } from "zod";

import type { PinnedData } from "../../../datasets/index.ts";
import { checkInstruction, type InstructionVerdict, stripThinking } from "../../../verify/index.ts";
import { type AnyBenchmark, defineBenchmark, type Protocol } from "../benchmark.ts";
import { ifbenchVerdict } from "../scoring/ifbench/index.ts";

type Argument = string | number | boolean | readonly (string | number)[];

const row = z.object({
  prompt: z.string(),
  instruction_id_list: z.array(z.string()),
  kwargs: z.array(z.record(z.string(), z.unknown())),
});
type Row = z.output<typeof row>;

interface Gold {
  readonly prompt: string;
  readonly instructions: readonly { readonly id: string; readonly args: Readonly<Record<string, Argument>> }[];
}

type Arguments = Readonly<Record<string, unknown>>;

/** Arguments that IFEval's code drops before it builds an instruction: unset ones, zeros, empty lists. */
function filled(args: Arguments): Record<string, Argument> {
  const kept = Object.entries(args).filter(
    ([, value]) => Boolean(value) && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(kept) as Record<string, Argument>;
}

/** IFBench's code drops unset ones only. */
function set(args: Arguments): Record<string, Argument> {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => (value ?? null) !== null)) as Record<
    string,
    Argument
  >;
}

type Check = (id: string, args: Arguments, reply: string, options: { prompt: string }) => InstructionVerdict;

/** Results that need every instruction of a prompt, and counts whose ratio is the result over instructions. */
function scorersOf(check: Check) {
  const verdicts = (reply: string, { prompt, instructions }: Gold): InstructionVerdict[] => {
    const said = stripThinking(reply, { strict: false });
    return instructions.map(({ id, args }) => check(id, args, said, { prompt }));
  };
  return {
    prompt_strict: (reply: string, gold: Gold) => verdicts(reply, gold).every(({ strict }) => strict),
    prompt_loose: (reply: string, gold: Gold) => verdicts(reply, gold).every(({ loose }) => loose),
    instruction_strict: (reply: string, gold: Gold) => share(verdicts(reply, gold).map(({ strict }) => strict)),
    instruction_loose: (reply: string, gold: Gold) => share(verdicts(reply, gold).map(({ loose }) => loose)),
    instructions: (_: string, gold: Gold) => gold.instructions.length,
  };
}

function share(followed: readonly boolean[]): number {
  return followed.filter(Boolean).length / followed.length;
}

interface Published {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly paper: string;
  readonly source: string;
  /** The mode lm-eval; null where the harness does not have the benchmark. */
  readonly harness: string | null;
  readonly primary: "prompt_strict" | "prompt_loose";
  readonly check: Check;
  /** The arguments that the published code keeps. */
  readonly kept: (args: Arguments) => Record<string, Argument>;
}

function instructionBenchmark(published: Published, data: PinnedData): AnyBenchmark {
  const { name, title, summary, paper, source, harness, primary, check, kept } = published;
  const ask: Protocol<Row, Gold>["ask"] = ({ prompt, instruction_id_list: ids, kwargs }) => ({
    prompt,
    gold: { prompt, instructions: ids.map((id, index) => ({ id, args: kept(kwargs[index] ?? {}) })) },
  });
  const protocol = { form: "chat", ask, sampling: { temperature: 0, maxCompletionTokens: 4_096 } } as const;
  const continued = { form: "text", ask, sampling: { temperature: 0, maxCompletionTokens: 1_280 } } as const;
  return defineBenchmark<Row, Gold>({
    name,
    title,
    summary,
    paper,
    data,
    row,
    modes: {
      paper: { ...protocol, source, primary },
      ...(harness === null ? {} : { "lm-eval": { ...continued, source: harness, primary: "prompt_strict" } }),
    },
    scorers: scorersOf(check),
  });
}

export const ifeval = instructionBenchmark(
  {
    name: "ifeval",
    title: "IFEval",
    summary: "instructions about form that a program checks, 25 kinds",
    paper: "https://arxiv.org/abs/2311.07911",
    source:
      "Zhou et al. (2023): the prompt alone, prompt-level strict accuracy; the other three numbers are recorded too",
    harness: "lm-evaluation-harness 0.4.13, ifeval (version 4), prompt_level_strict_acc",
    primary: "prompt_strict",
    check: checkInstruction,
    kept: filled,
  },
  {
    dataset: "google/IFEval",
    split: "train",
    files: "ifeval_input_data.jsonl",
    revision: "966cd89545d6b6acfd7638bc708b98261ca58e84",
    rows: 541,
    licence: "Apache-2.0",
    sha256: { "ifeval_input_data.jsonl": "6a85310ca8ce15eff755aa08a3a4ff931c7e273e7515ebb3c492ea85fd8288f2" },
  },
);

export const ifbench = instructionBenchmark(
  {
    name: "ifbench",
    title: "IFBench",
    summary: "instructions that no model was trained on, 58 kinds, checked by a program",
    paper: "https://arxiv.org/abs/2507.02833",
    source:
      "Pyatkin et al. (2025): the prompt alone, prompt-level loose accuracy; the other three numbers are recorded too. Whether a reply begins with a verb, and how many syllables a word has, is decided by rules of ours in place of NLTK's tagger and a dictionary",
    harness: null,
    primary: "prompt_loose",
    check: ifbenchVerdict,
    kept: set,
  },
  {
    dataset: "allenai/IFBench_test",
    split: "train",
    revision: "2e8a48de45ff3bf41242f927254ca81b59ca3ae2",
    rows: 300,
    licence: "ODC-BY-1.0",
  },
);
