/** Where readers of files and of servers find an input. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for the files of a target; it is removed when the thread ends. */
export function folderOf(target: string): string {
  const folder = mkdtempSync(join(tmpdir(), `prl-fuzz-${target}-`));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes an input as a file of the folder, and gives its path. */
export function fileOf(folder: string, name: string, input: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, input);
  return path;
}

/** A server on loopback that answers every request with the bytes that were set last. */
export class AnsweringServer {
  readonly #server: Server;
  readonly #listening: Promise<string>;
  #answer: Uint8Array = new Uint8Array();
  #type = "application/json";

  constructor() {
    this.#server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": this.#type });
      response.end(this.#answer);
    });
    this.#server.unref();
    this.#listening = new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => {
        resolve(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
      });
    });
  }

  /** Its address. */
  get url(): Promise<string> {
    return this.#listening;
  }

  /** From now on it answers so. */
  answer(bytes: Uint8Array, type: "application/json" | "text/event-stream" = "application/json"): void {
    this.#answer = bytes;
    this.#type = type;
  }
}
