/** Calls of the torch trainer's ranks, against a program that stands in for Python and answers as the test says: no PyTorch is here. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { WorkerGroup } from "../../../../ts/trainer/torch/worker-group.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "prl-ranks-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** An interpreter that runs `program`, in which `connect` is there. */
async function interpreterOf(program: string): Promise<string> {
  const path = join(folder, "python");
  const connect = `const connect = () => require("node:net").connect(process.env.PRL_TORCH_SOCKET);`;
  await writeFile(path, `#!${process.execPath}\n${connect}\n${program}\n`);
  await chmod(path, 0o755);
  return path;
}

const start = async (program: string) =>
  WorkerGroup.start({
    interpreter: await interpreterOf(program),
    ranks: 2,
    threads: 1,
    silenceMs: 60_000,
    callMs: 20_000,
  });

/** Rank 1 connects first. It answers a call that fails later than rank 0, and the call behind it at once. */
const LATE = `
const rank = (index, then) => {
  const socket = connect();
  socket.write(JSON.stringify({ rank: index, pid: process.pid }) + "\\n", then);
  const answer = (id, rest) => socket.write(JSON.stringify({ id, ...rest }) + "\\n");
  require("node:readline").createInterface({ input: socket }).on("line", (line) => {
    const { id, op } = JSON.parse(line);
    if (op === "close") { answer(id, { result: {} }); socket.end(); return; }
    const error = { code: "PRL_TRAIN_NON_FINITE", message: "not finite" };
    if (op === "step") setTimeout(answer, index * 300, id, { error });
    else setTimeout(answer, index * 600, id, { result: { rank: index, op } });
  });
};
rank(1, () => setTimeout(rank, 100, 0));
`;

test("a rank's late answer to a call that another rank has failed is not that of the next call", async () => {
  const group = await start(LATE);
  try {
    await expect(group.call("step")).rejects.toMatchObject({ code: "PRL_TRAIN_NON_FINITE" });
    expect(await group.call("logprobs")).toEqual({ rank: 0, op: "logprobs" });
    expect(await group.call("save")).toEqual({ rank: 0, op: "save" });
  } finally {
    await group.close();
  }
});

test("a process that connects and says no rank does not keep the group from ending", async () => {
  // The program ends while a process that it has started holds a connection, and goes on for half a minute.
  const noted = join(folder, "pid");
  const silent = `
setTimeout(() => process.exit(0), 30_000);
const note = () => require("node:fs").writeFileSync(${JSON.stringify(noted)}, String(process.pid));
require("node:net").connect(process.env.PRL_TORCH_SOCKET, note);
`;
  const program = `
require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(silent)}], { detached: true, stdio: "ignore" }).unref();
setInterval(() => require("node:fs").existsSync(${JSON.stringify(noted)}) && process.exit(3), 20);
`;
  await expect(start(program)).rejects.toMatchObject({
    code: "PRL_TORCH_WORKER",
    message: expect.stringContaining("exit code 3"),
  });
  // It is still there: the group has not waited for its end.
  process.kill(Number(await readFile(noted, "utf8")), "SIGKILL");
});

test("a TMPDIR that is too long for a socket's path does not keep the ranks from connecting", async () => {
  const long = join(folder, "t".repeat(120));
  await mkdir(long);
  vi.stubEnv("TMPDIR", long);
  // Python refuses a longer path; Node may cut it.
  const refuse = `if (Buffer.byteLength(process.env.PRL_TORCH_SOCKET) > 107) process.exit(9);`;
  const group = await start(refuse + LATE);
  try {
    expect(await group.call("save")).toEqual({ rank: 0, op: "save" });
  } finally {
    await group.close();
  }
});
