/** What crosses the border to native code: errors with our codes, numbers that fit or are refused. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { HAS_PRLIMIT } from "../../../ts/cli/chaos/faults/machine/limits.ts";
import { PrlError } from "../../../ts/errors.ts";
import {
  buildBatch,
  decodeSafetensors,
  digest,
  encodeSafetensors,
  loadModel,
  openTrainer,
  packSequences,
  randomCheckpoint,
  writeBatch,
} from "../../../ts/native/index.ts";
import { fromNative } from "../../../ts/native/errors.ts";
import { MODULE_LOADER, modulePath } from "../../support/compiled.ts";

const napiError = (code: string, message: string) => Object.assign(new Error(message), { code });

describe("errors", () => {
  test("take their code and their cause from the message that native code writes", () => {
    const cause = new Error("disk");
    const error = fromNative(Object.assign(new Error("[PRL_WEIGHTS_IO] cannot read x\nat all"), { cause }));
    expect(error).toBeInstanceOf(PrlError);
    expect(error).toMatchObject({ code: "PRL_WEIGHTS_IO", message: "cannot read x\nat all", cause });
  });

  test("of napi itself have a code of ours too", () => {
    expect(fromNative(napiError("GenericFailure", "index out of bounds"))).toMatchObject({ code: "PRL_NATIVE_PANIC" });
    expect(fromNative(napiError("NumberExpected", "x"))).toMatchObject({ code: "PRL_ENGINE_INPUT" });
    expect(() => digest(3 as never)).toThrow(expect.objectContaining({ code: "PRL_ENGINE_INPUT" }) as Error);
  });

  test("of other libraries stay unchanged", () => {
    for (const other of [
      napiError("ENOENT", "no file"),
      new PrlError("PRL_IO", "x"),
      "text",
      new Error("[PRL_NONSENSE] x"),
    ]) {
      expect(fromNative(other)).toBe(other);
    }
  });
});

const sample = {
  tokenIds: Uint32Array.of(1, 2),
  mask: Uint8Array.of(0, 1),
  logprobs: Float32Array.of(0, -1),
  advantages: Float32Array.of(0, 1),
  temperature: 1,
  envId: 0,
  policyVersionSpans: Uint32Array.of(0, 0),
};
const plan = [Uint32Array.of(0)];

describe.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32])("the number %d", (wrong) => {
  test.each([
    ["lengths[1]", () => packSequences([1, wrong], { seqLen: 4 })],
    ["seqLen", () => packSequences([1], { seqLen: wrong })],
    ["ranks", () => packSequences([1], { seqLen: 4, ranks: wrong })],
    ["classes[0]", () => packSequences([1], { seqLen: 4, classes: [wrong] })],
    ["samples[0].envId", () => buildBatch([{ ...sample, envId: wrong }], plan)],
    ["padTokenId", () => buildBatch([sample], plan, { padTokenId: wrong })],
  ])("is refused as %s", (name, call) => {
    expect(call).toThrow(
      expect.objectContaining({
        code: "PRL_PACKING_INPUT",
        message: expect.stringContaining(`${name} is`) as string,
      }) as Error,
    );
  });

  test.each([
    ["threads", () => loadModel("nowhere", { threads: wrong })],
    ["maxNumSeqs", () => loadModel("nowhere", { maxNumSeqs: wrong })],
    ["maxModelLen", () => loadModel("nowhere", { maxModelLen: wrong })],
    ["threads", () => openTrainer("nowhere", { threads: wrong })],
  ])("is refused as %s", async (name, call) => {
    await expect(call()).rejects.toMatchObject({ code: "PRL_ENGINE_INPUT" });
    await expect(call()).rejects.toThrow(`${name} is`);
  });
});

test.each([-1, 0.5, Number.NaN, 2 ** 53])(
  "seeds, versions, sizes and counts of %d are refused in native code",
  async (wrong) => {
    const refused = { code: "PRL_ENGINE_INPUT" };
    await expect(randomCheckpoint("nowhere", "nowhere", wrong)).rejects.toMatchObject(refused);
    await expect(loadModel("nowhere", { version: wrong })).rejects.toMatchObject(refused);
    await expect(loadModel("nowhere", { kvCacheBytes: wrong })).rejects.toMatchObject(refused);
    const [batch] = buildBatch([sample], plan);
    if (batch === undefined) throw new Error("no batch");
    const key = { runId: "r", attempt: 1, step: 1, rank: 0, envNames: ["a"] };
    const counts = { rl: wrong, ce: 0, refKl: 0 };
    await expect(writeBatch("nowhere/file", { ...batch, counts }, key)).rejects.toMatchObject(refused);
    const tensor = { dtype: "U8", shape: [wrong], data: new Uint8Array(1) };
    expect(() => encodeSafetensors({ x: tensor })).toThrow(
      expect.objectContaining({ code: "PRL_WEIGHTS_TENSOR" }) as Error,
    );
  },
);

test("a file in memory is not copied: its tensors are parts of it", () => {
  const metadata = { kind: "x" };
  const data = Uint8Array.of(1, 2, 3, 4);
  const bytes = encodeSafetensors(
    { a: { dtype: "I16", shape: [2], data }, é: { dtype: "U8", shape: [1], data: Uint8Array.of(9) } },
    { metadata },
  );
  const file = decodeSafetensors(bytes);
  expect([file.names, file.metadata]).toEqual([["a", "é"], metadata]);
  const tensor = file.tensor("a");
  expect(tensor).toEqual({ dtype: "I16", shape: [2], data: expect.anything() as unknown });
  expect([...tensor.data]).toEqual([...data]);
  expect(tensor.data.buffer).toBe(bytes.buffer);
  bytes[tensor.data.byteOffset - bytes.byteOffset] = 7;
  expect(tensor.data[0]).toBe(7);
  expect([...file.tensor("é").data]).toEqual([9]);
  const failure = (code: string) => expect.objectContaining({ code }) as Error;
  expect(() => file.tensor("b")).toThrow(failure("PRL_WEIGHTS_TENSOR"));
  file.close();
  expect(() => file.tensor("a")).toThrow(failure("PRL_WEIGHTS_IO"));
  expect(() => decodeSafetensors(bytes.subarray(0, bytes.length - 1))).toThrow(failure("PRL_WEIGHTS_FORMAT"));
});

test("a dimension above u32 keeps its size", () => {
  const shape = [2 ** 33, 0];
  const bytes = encodeSafetensors({ x: { dtype: "F32", shape, data: new Uint8Array(0) } });
  expect(decodeSafetensors(bytes).tensor("x").shape).toEqual(shape);
});

test.runIf(HAS_PRLIMIT())(
  "a file that the system gives no memory for is PRL_MEMORY, and can be opened later",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "prl-border-"));
    try {
      const path = join(folder, "large.safetensors");
      const bytes = 256 * 1024 * 1024;
      const header = JSON.stringify({ x: { dtype: "U8", shape: [bytes], data_offsets: [0, bytes] } });
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(header.length));
      await writeFile(path, Buffer.concat([length, Buffer.from(header)]));
      await truncate(path, length.length + header.length + bytes);
      const script = `
      import { dataBytes, setSoftLimit } from ${JSON.stringify(modulePath("cli/chaos/faults/machine/limits.ts"))};
      import { openSafetensors } from ${JSON.stringify(modulePath("native/index.ts"))};
      const open = () => openSafetensors(${JSON.stringify(path)}).then((file) => file.names[0], ({ code }) => code);
      setSoftLimit(process.pid, "data", await dataBytes(process.pid) + ${bytes / 2});
      const scarce = await open();
      setSoftLimit(process.pid, "data", "unlimited");
      console.log(scarce, await open());`;
      const node = [...MODULE_LOADER, "--input-type=module", "--eval", script];
      expect(execFileSync(process.execPath, node, { encoding: "utf8", timeout: 60_000 }).trim()).toBe("PRL_MEMORY x");
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

test.runIf(HAS_PRLIMIT())("core dumps are forbidden for this process and its children", () => {
  const script = `
    import { execFileSync } from "node:child_process";
    import { forbidCoreDumps } from ${JSON.stringify(modulePath("native/index.ts"))};
    const soft = () => execFileSync("sh", ["-c", "ulimit -S -c"], { encoding: "utf8" }).trim();
    execFileSync("prlimit", ["--pid", String(process.pid), "--core=" + execFileSync("sh", ["-c", "ulimit -H -c"], { encoding: "utf8" }).trim() + ":"]);
    const before = soft();
    await forbidCoreDumps();
    console.log(before, soft());`;
  const node = [...MODULE_LOADER, "--input-type=module", "--eval", script];
  const [before, after] = execFileSync(process.execPath, node, { encoding: "utf8", timeout: 60_000 }).trim().split(" ");
  expect([before === "", after]).toEqual([false, "0"]);
});
