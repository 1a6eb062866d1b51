/** One line of `prl doctor`. */
export interface Check {
  readonly name: string;
  /** `warning`: works, but less well or not everything; `problem`: runs will fail. */
  readonly status: "ok" | "warning" | "problem";
  readonly detail: string;
  /** How to repair it; absent when nothing is wrong. */
  readonly fix?: string;
  /** A value that should be the same on all hosts of `prl fleet check`; absent where they may differ. */
  readonly alike?: string;
}

export function ok(name: string, detail: string): Check {
  return { name, status: "ok", detail };
}

export function warning(name: string, detail: string, fix: string): Check {
  return { name, status: "warning", detail, fix };
}

export function problem(name: string, detail: string, fix: string): Check {
  return { name, status: "problem", detail, fix };
}

/** Bytes as text, `3.2 GiB`. */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
