/**
 * One HTTP exchange whose answer is read as a whole, with little overhead: no stream, no signal, no listeners. It is for requests that
 * are sent thousands of times a second, where undici's `request` costs several times as much.
 */
import type { Dispatcher } from "undici";

export interface Question {
  method: "GET" | "POST";
  /** Path and query. */
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** An answer of more bytes is an error. */
  mostBytes: number;
}

export interface Answer {
  status: number;
  body: Uint8Array;
}

/** An exchange under way. */
export class PendingResponse implements Dispatcher.DispatchHandler {
  /** Rejects with the reason of `cancel`, or with undici's error. */
  readonly answer: Promise<Answer>;
  readonly #mostBytes: number;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #status = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #reason: Error | undefined;
  #resolve!: (answer: Answer) => void;
  #reject!: (error: Error) => void;

  constructor(dispatcher: Dispatcher, { mostBytes, ...question }: Question) {
    this.#mostBytes = mostBytes;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    dispatcher.dispatch(question, this);
  }

  /** Ends its connection, if it has one; no effect once it is answered. */
  cancel(reason: Error): void {
    this.#reason ??= reason;
    this.#reject(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#reason !== undefined) controller.abort(this.#reason);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#mostBytes) this.cancel(new Error(`the answer has more than ${this.#mostBytes} bytes`));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error);
  }
}
