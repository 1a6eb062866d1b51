import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { relayVersions } from "../../../ts/cli/commands/weights/relay.ts";
import { digest, openWeightNode, WeightPublisher, writeSafetensors } from "../../../ts/native/index.ts";
import { prl } from "./run.ts";

const ELEMENTS = 4096;

/** Versions 0 (full) to 3 (sparse) of one bf16 tensor; version v has v elements changed. */
async function publishedRoot(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "prl-weights-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const root = join(folder, "weights");
  const publisher = await WeightPublisher.open(root);
  for (let version = 0; version < 4; version++) {
    await publisher.publish(version, async (dir) => {
      const elements = new Uint16Array(ELEMENTS).fill(16_000).fill(16_001, 0, version);
      const data = new Uint8Array(elements.buffer);
      const w = { dtype: "BF16", shape: [ELEMENTS], data };
      await writeFile(join(dir, "config.json"), "{}");
      await writeFile(join(dir, "tokenizer.json"), "{}");
      const written = await writeSafetensors(join(dir, "model.safetensors"), { w });
      return { digest: versionDigest(data), shards: [{ file: "model.safetensors", ...written }] };
    });
  }
  await publisher.close();
  return root;
}

/** By the specification of crates/weights/README.md. */
function versionDigest(data: Uint8Array): string {
  const u64 = (value: number | bigint) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
  const text = (value: string) => Buffer.concat([u64(value.length), Buffer.from(value)]);
  const hash = u64(BigInt(`0x${digest(data)}`));
  return digest(Buffer.concat([text("w"), text("BF16"), u64(1), u64(ELEMENTS), u64(data.length), hash]));
}

describe("prl weights", () => {
  const step = (root: string, version: number) => join(root, `step_${version}`);

  test("verify describes a version, full or sparse", async () => {
    const root = await publishedRoot();
    const full = await prl(["weights", "verify", step(root, 0), "--json"]);
    expect(full).toMatchObject({ code: 0 });
    const said = { version: 0, encoding: "full", base: null, shards: 1, files: 2, unverified: [] };
    expect(JSON.parse(full.stdout)).toMatchObject(said);
    const text = await prl(["weights", "verify", step(root, 0)]);
    expect(text.stdout).toMatch(
      /^version 0 \([0-9a-f]{16}\): full, 1 file, .*, config\.json, tokenizer\.json: sound\n$/,
    );
    const sparse = await prl(["weights", "verify", "step_2"], root);
    expect(sparse).toMatchObject({ code: 0 });
    expect(sparse.stdout).toMatch(
      /^version 2 \([0-9a-f]{16}\): sparse, on version 1 \([0-9a-f]{16}\), 1 file, .*: sound\n$/,
    );
  });

  test("verify names damaged files, and folders that are no version", async () => {
    const damaged = await publishedRoot();
    const file = join(damaged, "step_1", "delta.safetensors");
    const bytes = await readFile(file);
    bytes[bytes.length - 1] = 0xff ^ (bytes.at(-1) ?? 0);
    await writeFile(file, bytes);
    const found = await prl(["weights", "verify", join(damaged, "step_1")]);
    expect(found).toMatchObject({ code: 1, stdout: "" });
    expect(found.stderr).toContain("PRL_WEIGHTS_DIGEST");
    expect(found.stderr).toContain(file);
    const missing = await prl(["weights", "verify", join(damaged, "step_9")]);
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.stderr).toContain("PRL_WEIGHTS_MANIFEST");
    expect(await prl(["weights", "verify"])).toMatchObject({ code: 2 });
  });

  test("verify finds changes beside the weights, and names the files that it cannot verify", async () => {
    const root = await publishedRoot();
    const dir = step(root, 0);
    const verify = () => prl(["weights", "verify", dir]);
    const [config, tokenizer, template] = ["config.json", "tokenizer.json", "chat_template.jinja"].map((name) =>
      join(dir, name),
    ) as [string, string, string];
    await writeFile(config, "{");
    expect((await verify()).stderr).toContain(`${join(dir, "manifest.json")}: config.json has 1 bytes, expected 2`);
    await writeFile(config, "[]");
    expect((await verify()).stderr).toMatch(/PRL_WEIGHTS_DIGEST.*config\.json/);
    await writeFile(config, "{}");
    await rm(tokenizer);
    expect((await verify()).stderr).toContain(tokenizer);
    await writeFile(tokenizer, "{}");
    await writeFile(template, "{{ x }}");
    expect((await verify()).stderr).toContain("it does not list chat_template.jinja");
    await rm(template);
    expect(await verify()).toMatchObject({ code: 0, stderr: "" });

    // As an earlier version of prl wrote it.
    const manifest = join(dir, "manifest.json");
    const { files: _files, ...older } = JSON.parse(await readFile(manifest, "utf8")) as Record<string, unknown>;
    await writeFile(manifest, JSON.stringify(older));
    const old = await verify();
    expect(old).toMatchObject({ code: 0, stderr: "" });
    expect(old.stdout).toContain(
      "not verified, because the manifest has no digests of them: config.json, tokenizer.json\n",
    );
    await rm(tokenizer);
    expect((await verify()).stdout).toContain("there is no tokenizer.json");
    for (const [text, what] of [
      ["garbage", "is not valid JSON"],
      ["[]", "is no JSON object"],
    ] as const) {
      await writeFile(config, text);
      const found = await verify();
      expect(found.code).toBe(2);
      expect(found.stderr).toContain(`${config} ${what}`);
    }
    await rm(config);
    expect((await verify()).stderr).toContain(`${config} is missing`);
  });

  test("publish ships the changes since the newest version, and refuses weights that no engine can load", async () => {
    const root = await publishedRoot();
    const folder = join(root, "..", "mine");
    const model = async (value: number, config = "{}") => {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "config.json"), config);
      await writeFile(join(folder, "tokenizer.json"), "{}");
      const data = new Uint8Array(new Uint16Array(ELEMENTS).fill(16_000).fill(value, 0, 9).buffer);
      await writeSafetensors(join(folder, "model.safetensors"), { w: { dtype: "BF16", shape: [ELEMENTS], data } });
    };
    const publish = async (version: number) => {
      const args = ["weights", "publish", folder, root, "--policy-version", String(version), "--json"];
      const { code, stdout, stderr } = await prl(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return (JSON.parse(stdout) as { encoding: string }).encoding;
    };
    for (const version of [4, 5, 6]) {
      await model(16_000 + version);
      expect(await publish(version)).toBe("sparse");
      const same = await prl(["weights", "diff", step(root, version), folder]);
      expect(same.stdout).toContain("0 of 1 tensors differ");
    }
    await model(16_007, '{"rope_theta": 2}');
    expect(await publish(7)).toBe("full");
    await model(16_008, "garbage");
    const refused = await prl(["weights", "publish", folder, root, "--policy-version", "8"]);
    expect(refused.stderr).toContain("config.json is not valid JSON");
    expect((await prl(["weights", "verify", step(root, 8)])).code).toBe(1);
  });

  test("diff counts what changed, through sparse versions too", async () => {
    const root = await publishedRoot();
    const { code, stdout } = await prl(["weights", "diff", step(root, 1), step(root, 3), "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      changed: 2,
      elements: ELEMENTS,
      tensors: [{ name: "w", dtype: "BF16", shape: [ELEMENTS], change: "values", changed: 2 }],
    });
    const text = await prl(["weights", "diff", step(root, 0), step(root, 3)]);
    expect(text.stdout).toContain("w  BF16 [4096]  3 of 4096 (0.0732 %)");
    expect(text.stdout).toContain("1 of 1 tensors differ");
    const same = await prl(["weights", "diff", step(root, 2), step(root, 2)]);
    expect(same.stdout).toBe("0 of 1 tensors differ: 0 of 4096 elements (0.00 %), 0 B as a sparse version\n");
    expect(await prl(["weights", "diff", step(root, 2)])).toMatchObject({ code: 2 });
  });

  test("reshard cuts weights for ranks and puts them together again", async () => {
    const root = await publishedRoot();
    const cut = await prl(["weights", "reshard", "step_0", "cut", "--to", "fsdp:3", "--json"], root);
    expect(cut).toMatchObject({ code: 0 });
    expect(JSON.parse(cut.stdout)).toMatchObject({ tensors: 1, sentBytes: 2 * ELEMENTS, writtenBytes: 2 * ELEMENTS });
    const back = await prl(["weights", "reshard", "cut", "back", "--from", "fsdp:3", "--to", "whole"], root);
    expect(back.stdout).toMatch(/^1 tensors for 1 rank in .*: 8(\.\d+)? \S+, .* to send\n$/);
    const fewer = await prl(["weights", "reshard", "cut", "fewer", "--from", "fsdp:2", "--to", "whole"], root);
    expect(fewer.stderr).toContain("there is a rank_2, but fsdp:2 has 2 ranks");
    const same = await prl(["weights", "diff", "step_0", "back"], root);
    expect(same.stdout).toContain("0 of 1 tensors differ");
    await writeFile(join(root, "step_0", "config.json"), JSON.stringify({ num_key_value_heads: 3 }));
    const heads = await prl(["weights", "reshard", "step_0", "tp", "--to", "tp:2"], root);
    expect(heads.stderr).toContain("PRL_WEIGHTS_PLAN");
    expect(heads.stderr).toContain("num_key_value_heads");
    const there = await prl(["weights", "reshard", "step_0", "cut", "--to", "tp:2"], root);
    expect(there).toMatchObject({ code: 2 });
    const odd = await prl(["weights", "reshard", "step_0", "odd", "--to", "rows"], root);
    expect(odd.stderr).toContain("PRL_WEIGHTS_PLAN");
  });
});

describe("prl weights relay", () => {
  test("follows a publisher that goes back to an older version, and keeps that", async () => {
    const root = await publishedRoot();
    const relayed = join(root, "..", "relayed");
    const options = { token: null, patienceMs: 5_000 };
    const [origin, relay] = [openWeightNode(root, options), openWeightNode(relayed, options)];
    const stop = new AbortController();
    const address = await origin.listen("127.0.0.1:0");
    const notes: string[] = [];
    const note = (line: string) => void notes.push(line);
    const { signal } = stop;
    const work = relayVersions(relay, relayed, {
      brief: relay,
      sources: [address],
      keep: 1,
      lookMs: 50,
      note,
      signal,
    });
    work.catch(() => undefined);
    const here = async (version: number, times: number) => {
      const count = () => notes.filter((line) => line.startsWith(`version ${version} `)).length;
      for (let i = 0; i < 500 && count() < times; i++) await sleep(10);
      expect(count()).toBe(times);
    };
    await here(3, 1);
    for (const version of [3, 2]) await rm(join(root, `step_${version}`), { recursive: true });
    await here(1, 1);
    expect(await prl(["weights", "verify", join(relayed, "step_1")])).toMatchObject({ code: 0 });
    stop.abort();
    await relay.close();
    await work.catch(() => undefined);
    await origin.close();
  });

  test("keeps the version that the publisher went back to where another relay still has later ones", async () => {
    const root = await publishedRoot();
    const relayed = join(root, "..", "relayed");
    const later = join(root, "..", "later");
    await cp(root, later, { recursive: true });
    const options = { token: null, patienceMs: 5_000 };
    const nodes = [root, later, relayed].map((folder) => openWeightNode(folder, options));
    const [origin, other, relay] = nodes;
    if (origin === undefined || other === undefined || relay === undefined) throw new Error("three nodes");
    const sources = [await other.listen("127.0.0.1:0"), await origin.listen("127.0.0.1:0")];
    const notes: string[] = [];
    const note = (line: string) => void notes.push(line.split(" (")[0] ?? "");
    const stop = new AbortController();
    const relaying = { brief: relay, sources, keep: 1, lookMs: 50, note, signal: stop.signal };
    const work = relayVersions(relay, relayed, relaying);
    work.catch(() => undefined);
    await vi.waitFor(() => expect(notes).toEqual(["version 3"]), 10_000);
    for (const version of [3, 2]) await rm(join(root, `step_${version}`), { recursive: true });
    await vi.waitFor(() => expect(notes.slice(0, 2)).toEqual(["version 3", "version 1"]), 10_000);
    await sleep(1_000);
    expect(notes).toEqual(["version 3", "version 1"]);
    expect(await prl(["weights", "verify", join(relayed, "step_1")])).toMatchObject({ code: 0 });
    stop.abort();
    for (const node of nodes) await node.close();
    await work.catch(() => undefined);
  });
});

test("prl weights relay takes from another relay what that has, while the publisher is gone", async () => {
  const root = await publishedRoot();
  const [relayed, others] = [join(root, "..", "relayed"), join(root, "..", "others")];
  for (const version of [0, 1, 2])
    await cp(join(root, `step_${version}`), join(others, `step_${version}`), { recursive: true });
  // The whole patience is longer than the test.
  const other = openWeightNode(others, { token: null, patienceMs: 600_000 });
  const relay = openWeightNode(relayed, { token: null, patienceMs: 600_000 });
  const brief = openWeightNode(relayed, { token: null, patienceMs: 50 });
  const sources = [await other.listen("127.0.0.1:0"), "127.0.0.1:1"];
  const notes: string[] = [];
  const note = (line: string) => void notes.push(line.split(" (")[0] ?? "");
  const stop = new AbortController();
  const work = relayVersions(relay, relayed, { brief, sources, keep: 2, lookMs: 50, note, signal: stop.signal });
  work.catch(() => undefined);
  await vi.waitFor(() => expect(notes).toHaveLength(2), 20_000);
  expect(notes).toEqual(["version 2", expect.stringContaining("with 127.0.0.1:1; last:") as string]);
  await rename(join(root, "step_3"), join(others, "step_3"));
  await vi.waitFor(() => expect(notes[2]).toBe("version 3"), 20_000);
  stop.abort();
  await Promise.all([other, relay, brief].map((node) => node.close()));
  await work.catch(() => undefined);
});

describe("prl weights with PEFT adapters", () => {
  const CONFIG = '{ "peft_type":"LORA",\n\t"r" : 2, "lora_alpha": 4.0 }\n';

  const NODE = { token: null, patienceMs: 5_000 };

  /** The folder of an adapter, as another trainer leaves it. */
  async function adapterFolder(config = CONFIG, value = 1): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "prl-adapter-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "adapter_config.json"), config);
    await writeFile(join(folder, "tokenizer.json"), "{}");
    const tensor = (shape: number[]) => ({ dtype: "F32", shape, data: new Uint8Array(16).fill(value) });
    const module = "base_model.model.q_proj";
    const tensors = { [`${module}.lora_A.weight`]: tensor([2, 2]), [`${module}.lora_B.weight`]: tensor([2, 2]) };
    await writeSafetensors(join(folder, "adapter_model.safetensors"), tensors);
    return folder;
  }

  async function publish(folder: string, root: string, version: number) {
    return prl(["weights", "publish", folder, root, "--policy-version", String(version), "--json"]);
  }

  test("publish, pull and verify give the folder back byte for byte", async () => {
    const [folder, root, into] = [await adapterFolder(), await adapterFolder(), await adapterFolder()];
    for (const version of [1, 2]) {
      const { code, stdout } = await publish(folder, join(root, "weights"), version);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ version, encoding: "peft" });
    }
    const [origin, relay] = [openWeightNode(join(root, "weights"), NODE), openWeightNode(join(into, "relay"), NODE)];
    onTestFinished(async () => {
      await Promise.all([origin.close(), relay.close()]);
    });
    const address = await origin.listen("127.0.0.1:0");
    await relay.pull({ version: 2 }, [address]);
    const relayed = await relay.listen("127.0.0.1:0");
    const pulled = await prl(["weights", "pull", join(into, "pulled"), "--from", relayed, "--json"]);
    expect(pulled).toMatchObject({ code: 0 });
    const { dir } = JSON.parse(pulled.stdout) as { dir: string };
    for (const file of ["adapter_config.json", "adapter_model.safetensors", "tokenizer.json"]) {
      expect(await readFile(join(dir, file))).toEqual(await readFile(join(folder, file)));
    }
    const verified = await prl(["weights", "verify", dir]);
    expect(verified.stdout).toMatch(/^version 2 \([0-9a-f]{16}\): peft, 2 files, .*, tokenizer\.json: sound\n$/);
    await writeFile(join(dir, "adapter_config.json"), CONFIG.replace("4.0", "8.0"));
    const damaged = await prl(["weights", "verify", dir]);
    expect(damaged).toMatchObject({ code: 1 });
    expect(damaged.stderr).toContain("PRL_WEIGHTS_DIGEST");
    expect(damaged.stderr).toContain("adapter_config.json");
  });

  test("publish refuses half an adapter, and one after a model", async () => {
    const folder = await adapterFolder("[]");
    const wrong = await publish(folder, join(folder, "weights"), 1);
    expect(wrong.stderr).toContain("PRL_WEIGHTS_ADAPTER");
    expect(wrong.stderr).toContain("adapter_config.json");
    await rm(join(folder, "adapter_config.json"));
    expect((await publish(folder, join(folder, "weights"), 1)).stderr).toContain("PRL_WEIGHTS_ADAPTER");
    const models = await publishedRoot();
    const mixed = await publish(await adapterFolder(), models, 4);
    expect(mixed).toMatchObject({ code: 1 });
    expect(mixed.stderr).toContain("PRL_WEIGHTS_ADAPTER");
    // What is a model's is published by the same form.
    expect(await publish(join(models, "step_0"), models, 4)).toMatchObject({ code: 0 });
    expect(await prl(["weights", "publish", folder])).toMatchObject({ code: 2 });
  });

  test("diff compares tensors and config; reshard has no business with them", async () => {
    const [old, changed] = [await adapterFolder(), await adapterFolder(CONFIG.replace("4.0", "8.0"), 2)];
    const { stdout } = await prl(["weights", "diff", old, changed]);
    expect(stdout).toContain("adapter_config.json  U8 [");
    expect(stdout).toContain("3 of 3 tensors differ: 9 of ");
    expect(stdout).toContain("as an adapter, which is shipped whole");
    const models = await publishedRoot();
    expect((await prl(["weights", "diff", old, join(models, "step_0")])).stderr).toContain("PRL_WEIGHTS_ADAPTER");
    const cut = await prl(["weights", "reshard", old, join(models, "cut"), "--to", "fsdp:2"]);
    expect(cut.stderr).toContain("PRL_WEIGHTS_ADAPTER");
  });
});
