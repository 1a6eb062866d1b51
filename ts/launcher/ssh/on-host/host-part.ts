/**
 * One part of a run on its host: starts it, sends its log and the run's metrics to the launcher as they grow, starts a server again that was
 * killed, and ends it when the launcher says so or is gone.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { onAbort } from "../../../async/aborted.ts";
import { messageOf, PrlError } from "../../../errors.ts";
import { readFailureNote } from "../../../failure-note.ts";
import { atomicWriteFile } from "../../../files/atomic-write.ts";
import { ifThere } from "../../../files/file-presence.ts";
import { LineFollower } from "../../../files/line-follower.ts";
import { makeFolder } from "../../../files/make-folder.ts";
import { rotateLog } from "../../../files/rotated-log.ts";
import { earlyDeathsAfter } from "../../clusters/restart-rule.ts";
import { attemptBegan } from "../../standalone/resume-standalone.ts";
import { FRAME_BYTES, KILL, type PartOrder, SILENCE_MS, STOP } from "../host-protocol.ts";
import type { FrameWriter } from "./frame-writer.ts";
import { type PartExit, PartProcess } from "./part-process.ts";

/** Seconds that a part may take when the launcher asks it to stop; it needs at most 10. */
const STOP_MS = 20_000;
/** The same when the launcher is gone: the promise is 10 s for all. */
const GONE_MS = 8_000;
/** Time between the end of a part and that of this process, whatever is left to do. */
const LAST_WORDS_MS = 1_500;
const POLL_MS = 250;
/** Polls after which the launcher hears from the host though there is nothing new. */
const POLLS_PER_BEAT = 20;

export interface Session {
  /** The input after the order. */
  readonly lines: AsyncIterator<string>;
  readonly frames: FrameWriter;
  /** Aborted when this process is asked to end. */
  readonly signal: AbortSignal;
}

/** Resolves when the part has ended and the launcher knows how, or is gone. Errors: PRL_IO, PRL_PROCESS_DIED, PRL_SSH. */
export async function hostPart(order: PartOrder, session: Session): Promise<void> {
  await new HostedPart(order, session.frames).run(session);
}

class HostedPart {
  readonly #order: PartOrder;
  readonly #frames: FrameWriter;
  readonly #log: string;
  /** Aborted when the part is to end and not to be started again. */
  readonly #stopping = new AbortController();
  #process: PartProcess | null = null;
  #graceMs = Infinity;
  /** The launcher knows, or need not know, the step that the run goes on from. */
  #hasBegun: boolean;
  #hasWarned = false;
  #lastBeat = performance.now();

  constructor(order: PartOrder, frames: FrameWriter) {
    this.#order = order;
    this.#frames = frames;
    this.#hasBegun = order.resume === null || order.component !== "orchestrator";
    this.#log = join(order.runDir, "logs", `attempt_${order.attempt}`, `${order.name}.log`);
  }

  async run({ lines, signal }: Session): Promise<void> {
    const onGone = (): void => this.#gone();
    const release = onAbort(signal, onGone);
    onAbort(this.#frames.lost, onGone);
    const silence = setInterval(() => {
      if (performance.now() - this.#lastBeat > SILENCE_MS) onGone();
    }, POLL_MS);
    void this.#listen(lines).then(onGone, onGone);
    try {
      await this.#work();
    } finally {
      clearInterval(silence);
      release();
    }
  }

  async #work(): Promise<void> {
    const { runDir, configs } = this.#order;
    makeFolder(join(this.#log, ".."));
    makeFolder(join(runDir, "ssh"));
    for (const [name, text] of Object.entries(configs)) await atomicWriteFile(join(runDir, "ssh", name), text);
    const followers = await this.#followers();
    const ended = new AbortController();
    const sending = this.#send(followers, ended.signal);
    // The launcher hears no more of this host and would call it silent: the part ends now, and the failure is named.
    sending.catch(() => this.#stop(STOP_MS));
    const { exit, pid } = await this.#keepAlive().finally(() => ended.abort());
    // Nothing that is left to do may keep this process: a launcher that is gone reads nothing.
    if (this.#stopping.signal.aborted) setTimeout(() => process.exit(1), LAST_WORDS_MS).unref();
    await sending;
    const { component, index } = this.#order;
    const note = await readFailureNote({ runDir, component, index });
    await this.#frames.write({ prl: "end", ...exit, note: note?.pid === pid ? note : null });
  }

  /** Runs the part, one that serves again and again; resolves to its last end. */
  async #keepAlive(): Promise<{ exit: PartExit; pid: number }> {
    let early = 0;
    for (;;) {
      const began = performance.now();
      const running = await PartProcess.start(this.#order, this.#log);
      this.#process = running;
      if (this.#stopping.signal.aborted) running.stop(this.#graceMs);
      await this.#frames.write({ prl: "started", pid: running.pid });
      const exit = await running.ended;
      const livedS = (performance.now() - began) / 1000;
      const again =
        this.#order.kind === "serve" && !this.#stopping.signal.aborted
          ? earlyDeathsAfter({ isSignaled: exit.signal !== null, livedS, early })
          : null;
      if (again === null) return { exit, pid: running.pid };
      early = again;
      await this.#frames.write({ prl: "again", how: exit.signal ?? `exit code ${exit.code}` });
      await sleep(early * 1000, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return { exit, pid: running.pid };
    }
  }

  async #listen(lines: AsyncIterator<string>): Promise<void> {
    for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
      this.#lastBeat = performance.now();
      if (line.value === STOP) this.#stop(STOP_MS);
      if (line.value === KILL) this.#stop(0);
    }
  }

  #gone(): void {
    // Whatever hangs, this process ends in time.
    setTimeout(() => process.exit(1), GONE_MS + LAST_WORDS_MS).unref();
    this.#stop(GONE_MS);
  }

  #stop(graceMs: number): void {
    if (graceMs >= this.#graceMs) return;
    this.#graceMs = graceMs;
    this.#stopping.abort();
    this.#process?.stop(graceMs);
  }

  /** The files that the launcher gets: the log from its present end on, the others from where the launcher has them. */
  async #followers(): Promise<[name: string | null, follower: LineFollower][]> {
    const { runDir, follow } = this.#order;
    const size = async (path: string) => (await ifThere(stat(path), path))?.size ?? 0;
    const files = Object.entries(follow).map(async ([name, from]): Promise<[string, LineFollower]> => {
      const path = join(runDir, name);
      const there = await size(path);
      if (there < from) {
        const has = (await ifThere(readdir(runDir), runDir)) ?? [];
        throw new PrlError(
          "PRL_SSH",
          `${path} is shorter than what the launcher has received of it (there: ${has.toSorted().join(", ")}): put it back, or begin a new run`,
        );
      }
      return [name, new LineFollower(path, from, FRAME_BYTES)];
    });
    const log = new LineFollower(this.#log, await size(this.#log), FRAME_BYTES);
    return [[null, log], ...(await Promise.all(files))];
  }

  async #sendBegun(): Promise<void> {
    const step = await attemptBegan(this.#order.runDir, this.#order.attempt);
    if (step === null) return;
    this.#hasBegun = true;
    await this.#frames.write({ prl: "begun", step });
  }

  /** A log that cannot be rotated does not end the part: it is said once, in that log, and tried again. */
  async #rotate(): Promise<void> {
    try {
      await rotateLog(this.#log, this.#order.log);
    } catch (error) {
      if (!this.#hasWarned) await this.#frames.write({ prl: "log", text: `prl host-part: ${messageOf(error)}\n` });
      this.#hasWarned = true;
    }
  }

  async #send(followers: readonly [name: string | null, follower: LineFollower][], end: AbortSignal): Promise<void> {
    for (let poll = 1; ; poll++) {
      const isLast = end.aborted;
      // Before the steps that are done again.
      if (!this.#hasBegun) await this.#sendBegun();
      for (const [file, follower] of followers) {
        // A torn line of a metrics file is of a process that died while it wrote.
        for await (const text of follower.poll(isLast && file === null))
          await this.#frames.write(file === null ? { prl: "log", text } : { prl: "lines", file, text });
      }
      if (isLast) return;
      await this.#rotate();
      if (poll % POLLS_PER_BEAT === 0) await this.#frames.write({ prl: "beat" });
      await sleep(POLL_MS, undefined, { signal: end }).catch(() => undefined);
    }
  }
}
