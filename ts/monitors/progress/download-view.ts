/** The progress of a model's download: lines now and then, or one line with a bar that is written again and again. */
import { bar } from "../plots/sparkline.ts";
import { formatBytes, formatSeconds } from "./number-format.ts";

/** Bytes of a model that have come, and all of them. */
export interface Download {
  readonly model: string;
  readonly done: number;
  readonly total: number;
}

const LINE_MS = 5_000;
const BAR_COLUMNS = 24;

/** Speed and time left, from the first report on. */
export class DownloadSpeed {
  #first: { readonly model: string; readonly done: number; readonly at: number } | null = null;

  /** `34 % of 1.40 GiB, 45 MiB/s, 12.0s to go` */
  text({ model, done, total }: Download, now: number): string {
    if (this.#first === null || this.#first.model !== model) this.#first = { model, done, at: now };
    const seconds = (now - this.#first.at) / 1000;
    const rate = seconds > 0 ? (done - this.#first.done) / seconds : 0;
    const parts = [`${Math.floor((100 * done) / Math.max(1, total))} % of ${formatBytes(total)}`];
    if (rate > 0) parts.push(`${formatBytes(rate)}/s`);
    if (rate > 0 && done < total) parts.push(`${formatSeconds((total - done) / rate)} to go`);
    return parts.join(", ");
  }
}

/** A line at the beginning, every few seconds, and at the end. */
export class DownloadLines {
  readonly #write: (line: string) => void;
  readonly #speed = new DownloadSpeed();
  #shownAt = -Infinity;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  show(download: Download): void {
    const now = performance.now();
    const text = this.#speed.text(download, now);
    if (download.done < download.total && now - this.#shownAt < LINE_MS) return;
    this.#shownAt = now;
    this.#write(`Download ${download.model}: ${text}`);
  }
}

/** One line of a terminal. */
export class DownloadBar {
  readonly #write: (text: string) => void;
  readonly #columns: number;
  readonly #speed = new DownloadSpeed();

  constructor(write: (text: string) => void, columns: number) {
    this.#write = write;
    this.#columns = columns;
  }

  show(download: Download): void {
    const { model, done, total } = download;
    const line = `${model} ${bar(done / total, BAR_COLUMNS)} ${this.#speed.text(download, performance.now())}`;
    const end = done < total ? "" : "\n";
    this.#write(
      `\r\u001b[2K${Array.from(line)
        .slice(0, this.#columns - 1)
        .join("")}${end}`,
    );
  }
}
