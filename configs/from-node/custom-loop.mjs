/**
 * A custom training loop: on-policy RL in one process, made of the parts of a prl run.
 *
 *     node configs/from-node/custom-loop.mjs [steps]
 *
 * The task is to answer in lower-case letters, from random weights.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { advantages } from "prl-lm/algorithms";
import { loadModel, openTrainer, randomCheckpoint } from "prl-lm/engine";
import { defineEnvironment, endless, scoreGroup, singleTurn, z } from "prl-lm/environments";
import { buildBatch, packSequences } from "prl-lm/packing";
import { loadTokenizer } from "prl-lm/tokenizer";

const STEPS = Number(process.argv[2] ?? 30);
const TASKS = 4; // of a step ...
const GROUP = 16; // ... times so many answers each, which are compared
const MAX_TOKENS = 12;
const SEQ_LEN = 1024; // tokens that go through the trainer at once
const NOT_SAMPLED = 0xffffffff;

function* questions() {
  for (let i = 0; ; i++) yield { prompt: `question ${i}: ` };
}

const environment = defineEnvironment({
  name: "lower-case",
  version: "1.0.0",
  config: z.strictObject({}),
  tasks: () => endless(questions()),
  rollout: singleTurn(),
  rewards: { lower_case: ({ trace }) => (trace.lastReply.match(/[a-z]/g)?.length ?? 0) / MAX_TOKENS },
});
const tasks = environment.configure({}).tasks("train", 0);

const scratch = await mkdtemp(join(tmpdir(), "prl-custom-loop-"));
const start = join(scratch, "step_0");
await randomCheckpoint(fileURLToPath(new URL("../reverse-text/model", import.meta.url)), start, 1);
const tokenizer = await loadTokenizer(start);
const model = await loadModel(start);
const trainer = await openTrainer(start, {
  loss: { type: "grpo" },
  optim: { type: "adamw", lr: 1e-3, weight_decay: 0 },
});

/** Answers to every request, in their order. */
async function sample(requests) {
  const answers = requests.map(() => ({ tokenIds: [], logprobs: [] }));
  for await (const increment of model.generate(requests)) {
    if (increment.error) throw increment.error;
    answers[Number(increment.id)].tokenIds.push(...increment.tokenIds);
    answers[Number(increment.id)].logprobs.push(...increment.logprobs);
  }
  return answers;
}

try {
  let after = null;
  for (let step = 1; step <= STEPS; step++) {
    const page = await tasks.page(after, TASKS);
    after = page.next;

    const rollouts = page.tasks.flatMap(({ data }) => Array.from({ length: GROUP }, () => ({ task: data })));
    const prompts = rollouts.map(({ task }) => tokenizer.encode(task.prompt));
    const answers = await sample(
      prompts.map((promptTokenIds, i) => ({
        id: String(i),
        promptTokenIds,
        maxTokens: MAX_TOKENS,
        seed: step * 1e6 + i,
      })),
    );

    const scored = await scoreGroup(
      environment,
      rollouts.map(({ task }, i) => ({
        task,
        messages: [
          { role: "user", content: task.prompt },
          { role: "assistant", content: tokenizer.decode(answers[i].tokenIds, { skipSpecialTokens: true }) },
        ],
      })),
    );
    const rewards = scored.map(({ reward }) => reward);
    const groups = page.tasks.map((_, g) => rewards.slice(g * GROUP, (g + 1) * GROUP));
    const gains = advantages("grpo", groups, { std: "group" }).flat();

    const samples = answers.map(({ tokenIds, logprobs }, i) => {
      const prompt = prompts[i].length;
      const length = prompt + tokenIds.length;
      const column = (Type, values) => {
        const whole = new Type(length);
        whole.set(values, prompt);
        return whole;
      };
      return {
        tokenIds: Uint32Array.from([...prompts[i], ...tokenIds]),
        mask: column(
          Uint8Array,
          tokenIds.map(() => 1),
        ),
        logprobs: column(Float32Array, logprobs),
        advantages: column(
          Float32Array,
          tokenIds.map(() => gains[i]),
        ),
        temperature: 1,
        envId: 0,
        policyVersionSpans: Uint32Array.of(0, NOT_SAMPLED, prompt, step - 1),
      };
    });
    const plan = packSequences(
      samples.map(({ tokenIds }) => tokenIds.length),
      { seqLen: SEQ_LEN },
    );
    const [batch] = buildBatch(samples, plan, { seqLen: SEQ_LEN, padTokenId: tokenizer.padTokenId ?? 0 });

    const { loss, metrics } = await trainer.forwardBackward({ ...batch, onPolicyVersion: step - 1 });
    const { gradNorm } = await trainer.step();
    const { digest } = await trainer.save(join(scratch, `step_${step}`));
    await model.swapWeights(join(scratch, `step_${step}`), { version: step, digest });
    await rm(join(scratch, `step_${step - 1}`), { recursive: true });

    const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
    const difference = metrics["mismatch_on_policy/max_abs_logprob_diff"];
    console.log(
      `step ${step}: reward ${mean.toFixed(4)}, loss ${loss.toFixed(4)}, gradient ${gradNorm.toFixed(3)}, sampler against trainer ${difference}`,
    );
  }
} finally {
  await Promise.all([model.close(), trainer.close()]);
  await rm(scratch, { recursive: true, force: true });
}
