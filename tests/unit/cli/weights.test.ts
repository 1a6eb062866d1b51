import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { digest, WeightPublisher, writeSafetensors } from "../../../ts/native/index.ts";
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

  test("verify says what a version is, full or sparse", async () => {
    const root = await publishedRoot();
    const full = await prl(["weights", "verify", step(root, 0), "--json"]);
    expect(full).toMatchObject({ code: 0 });
    expect(JSON.parse(full.stdout)).toMatchObject({ version: 0, encoding: "full", base: null, shards: 1 });
    const sparse = await prl(["weights", "verify", "step_2"], root);
    expect(sparse).toMatchObject({ code: 0 });
    expect(sparse.stdout).toMatch(
      /^version 2 \([0-9a-f]{16}\): sparse, on version 1 \([0-9a-f]{16}\), 1 file, .*: sound\n$/,
    );
  });

  test("verify names what is damaged and what is no version", async () => {
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
