/** Formats numbers of a run for display: few digits, fixed where columns should line up. This file knows no metric names. */

/** `digits` decimals; small non-zero values in scientific notation so that they never read as 0; a missing one is a dash. */
export function formatNumber(value: number | undefined, digits = 4): string {
  if (value === undefined) return "–";
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  if (Math.abs(value) < 0.5 * 10 ** -digits || Math.abs(value) >= 1e9) return value.toExponential(1);
  return value.toFixed(digits);
}

/** A count with thousands grouped by commas. Without `Intl`, whose first use costs each process of a run 25 ms. */
export function formatCount(value: number | undefined): string {
  return value === undefined
    ? "–"
    : Math.round(value)
        .toFixed(0)
        .replaceAll(/\B(?=(?:\d{3})+$)/gu, ",");
}

/** Seconds as `0.41s`, `12.3s`, `3m 05s`, `2h 07m`. */
export function formatSeconds(seconds: number | undefined): string {
  if (seconds === undefined) return "–";
  if (seconds < 9.995) return `${seconds.toFixed(2)}s`;
  if (seconds < 59.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${pad(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h ${pad(Math.floor((whole % 3600) / 60))}m`;
}

/** Bytes in binary units, `812 MiB`. */
export function formatBytes(bytes: number | undefined): string {
  if (bytes === undefined) return "–";
  const mebibytes = bytes / 2 ** 20;
  return mebibytes < 1024 ? `${mebibytes.toFixed(0)} MiB` : `${(mebibytes / 1024).toFixed(2)} GiB`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
