/**
 * The launcher's end of an ssh session: gives a part its order, takes its frames, and knows how it ended.
 *
 * A part whose last frame did not come was lost, and the error says what ssh said. The beats show the host that this process lives; frames show that the
 * host does. Every wait ends: for the first frame, for any frame, for this machine's disk, for the end after `stop`, and for ssh after that.
 */

import type { HostsFile } from "../../config/index.ts";
import { atMost, withDeadline } from "../../async/deadline.ts";
import { isErrorCode, messageOf, PrlError } from "../../errors.ts";
import { type FailureNote } from "../../failure-note.ts";
import { refuseVersion } from "./ask-host.ts";
import type { Collector } from "./collector.ts";
import type { Part } from "./host-plan.ts";
import { BEAT, BEAT_MS, type Frame, KILL, linesOf, type PartOrder, readFrame, STOP } from "./host-protocol.ts";
import { connectionRefused, endSsh, noSsh, SSH_FAILED, type SshProcess, startOnHost } from "./ssh-program.ts";

/** Longest time from the start of ssh to the first frame: connecting, login scripts, and starting Node on a busy machine. */
const HELLO_MS = 60_000;
/** A host says something every five seconds. */
const SILENCE_MS = 45_000;
/** Longest time for a write to the run directory: a network disk may stand still for minutes. */
const WRITE_MS = 300_000;
/** The host gives the part 20 s to stop. */
const STOPPED_MS = 26_000;
/** The host's own end, after its input has ended. */
const CLOSED_MS = 12_000;
const MOST_STDERR = 4 * 1024;

export type PartEnd =
  | {
      readonly how: "ended";
      readonly code: number | null;
      readonly signal: string | null;
      readonly note: FailureNote | null;
    }
  | { readonly how: "lost"; readonly error: PrlError };

export interface SessionEvents {
  /** A server that was killed is started again on its host. */
  readonly onAgain: (part: Part, how: string) => void;
  /** The run goes on from the checkpoint of this step. */
  readonly onBegun: (step: number) => void;
}

export class HostSession {
  readonly part: Part;
  /** Resolves when the part has ended, or is lost. */
  readonly ended: Promise<PartEnd>;
  readonly #ssh: SshProcess;
  readonly #collector: Collector;
  readonly #events: SessionEvents;
  readonly #gone: Promise<void>;
  readonly #beats: NodeJS.Timeout;
  readonly #watch: NodeJS.Timeout;
  #exitCode: number | null = null;
  #said = "";
  #isGreeted = false;
  #lastFrame = performance.now();
  #isTaking = false;
  #end: PartEnd | null = null;

  constructor(
    part: Part,
    order: PartOrder,
    file: HostsFile,
    { collector, events }: { collector: Collector; events: SessionEvents },
  ) {
    this.part = part;
    this.#collector = collector;
    this.#events = events;
    this.#ssh = startOnHost(part.host, file, ["host-part"]);
    this.#gone = new Promise((resolve) => {
      this.#ssh.once("close", (code) => {
        this.#exitCode = code;
        resolve();
      });
      this.#ssh.once("error", (cause) => {
        this.#lose(noSsh(cause));
        resolve();
      });
    });
    // The session's end says what a broken pipe would.
    this.#ssh.stdin.on("error", () => undefined);
    this.#ssh.stderr.on("data", (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString("utf8")).slice(-MOST_STDERR);
    });
    this.#ssh.stdin.write(`${JSON.stringify(order)}\n`);
    this.#beats = setInterval(() => this.#send(BEAT), BEAT_MS);
    this.#watch = setInterval(() => this.#look(), BEAT_MS);
    this.ended = this.#follow();
  }

  /** Asks the part to stop; resolves when nothing of the session is left, within 40 s. */
  async stop(): Promise<void> {
    this.#send(STOP);
    await atMost(this.ended, STOPPED_MS);
    await this.close();
  }

  /** Kills the part at once. */
  kill(): void {
    this.#send(KILL);
  }

  /** Ends the session; the host then ends what is left of the part. Resolves within 12 s. */
  async close(): Promise<void> {
    clearInterval(this.#beats);
    this.#ssh.stdin.end();
    const late = () => new Error("ssh did not end");
    await withDeadline(this.#gone, CLOSED_MS, late).catch(() => endSsh(this.#ssh, "SIGKILL"));
    clearInterval(this.#watch);
  }

  #send(line: string): void {
    if (this.#ssh.stdin.writable) this.#ssh.stdin.write(`${line}\n`);
  }

  async #follow(): Promise<PartEnd> {
    try {
      for await (const line of linesOf(this.#ssh.stdout)) await this.#takeInTime(line);
    } catch (cause) {
      // A file that cannot be written or read here ends the part as lost.
      this.#lose(cause instanceof PrlError ? cause : new PrlError("PRL_SSH", messageOf(cause), { cause }));
      endSsh(this.#ssh, "SIGTERM");
    }
    await this.#gone;
    clearInterval(this.#beats);
    clearInterval(this.#watch);
    return this.#end ?? { how: "lost", error: this.#loss() };
  }

  async #takeInTime(line: string): Promise<void> {
    const late = () =>
      new PrlError(
        "PRL_IO",
        `${this.#where}: what it sent was not written to the run directory here within ${WRITE_MS / 1000} s: see the disk`,
      );
    this.#isTaking = true;
    try {
      await withDeadline(this.#take(line), WRITE_MS, late);
    } finally {
      this.#isTaking = false;
      this.#lastFrame = performance.now();
    }
  }

  async #take(line: string): Promise<void> {
    const frame = readFrame(line);
    const { name } = this.part;
    if (frame === null) return this.#collector.log(name, `${line}\n`);
    switch (frame.prl) {
      case "hello":
        return this.#greet(frame);
      case "log":
        return this.#collector.log(name, frame.text);
      case "lines":
        return this.#collector.lines(frame.file, frame.text);
      case "begun":
        return this.#events.onBegun(frame.step);
      case "again":
        return this.#events.onAgain(this.part, frame.how);
      case "end": {
        const { code, signal, note } = frame;
        this.#end ??= { how: "ended", code, signal, note };
        this.#ssh.stdin.end();
        return;
      }
      case "refused":
        return this.#lose(
          new PrlError(isErrorCode(frame.code) ? frame.code : "PRL_SSH", `${this.#where}: ${frame.message}`),
        );
      case "started":
      case "beat":
        return;
    }
  }

  #greet(hello: Extract<Frame, { prl: "hello" }>): void {
    this.#isGreeted = true;
    refuseVersion(this.part.host, hello);
  }

  /** The first reason counts. */
  #lose(error: PrlError): void {
    if (this.#end !== null) return;
    this.#end = { how: "lost", error };
    this.#ssh.stdin.end();
  }

  #look(): void {
    // Messages of the host are not read meanwhile.
    if (this.#isTaking) return;
    const silence = performance.now() - this.#lastFrame;
    if (silence < (this.#isGreeted ? SILENCE_MS : HELLO_MS)) return;
    const what = this.#isGreeted ? "said nothing" : "did not start prl host-part";
    this.#lose(new PrlError("PRL_SSH", `${this.#where}: the host ${what} for ${Math.round(silence / 1000)} s`));
    endSsh(this.#ssh, "SIGKILL");
  }

  #loss(): PrlError {
    if (!this.#isGreeted) return connectionRefused(this.part.host, this.#said);
    const said = this.#said.trim();
    const how =
      this.#exitCode === SSH_FAILED ? "the connection was lost" : `prl host-part ended with code ${this.#exitCode}`;
    const error = new PrlError("PRL_SSH", `${this.#where}: ${how}${said === "" ? "" : ` (${said})`}`);
    return error;
  }

  get #where(): string {
    return `${this.part.name} on ${this.part.host.name}`;
  }
}
