import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { assertSameTokenizer, probeText } from "../../../../ts/orchestrator/batch/teacher.ts";
import { loadTokenizer, type Tokenizer } from "../../../../ts/renderers/index.ts";

const load = (name: string): Promise<Tokenizer> =>
  loadTokenizer(fileURLToPath(new URL(`../../../../configs/${name}/model`, import.meta.url)));
const teacher = (tokenize: (text: string) => Uint32Array) => ({
  url: "http://teacher",
  tokenize: async (text: string) => tokenize(text),
});
const { signal } = new AbortController();

test("a teacher with the policy's tokenizer will do, one with another is named with the first difference", async () => {
  const [policy, other] = await Promise.all([load("reverse-text"), load("small-chat")]);
  await assertSameTokenizer(
    teacher((text) => policy.encode(text)),
    policy,
    signal,
  );
  const refused = (tokenize: (text: string) => Uint32Array) =>
    expect(assertSameTokenizer(teacher(tokenize), policy, signal)).rejects.toMatchObject({
      code: "PRL_TEACHER_TOKENIZER",
      message: expect.stringContaining("http://teacher") as string,
    });
  await refused((text) => other.encode(text));
  await refused((text) => policy.encode(text).subarray(1));
  await refused((text) => policy.encode(`${text}a`));
  // One word of the vocabulary is another.
  const last = Math.max(...policy.encode(probeText(policy)));
  await refused((text) => policy.encode(text).map((id) => (id === last ? id + 1 : id)));
});

test("the probe reaches the ends of the vocabulary", async () => {
  const policy = await load("reverse-text");
  const text = probeText(policy);
  expect(new Set(policy.encode(text)).size).toBeGreaterThan(Math.min(policy.vocabSize, 256) / 4);
});
