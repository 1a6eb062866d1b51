/** Small pictures of block characters: a progress bar, and a sparkline of past values. */

const LEVELS = "▁▂▃▄▅▆▇█";
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/**
 * One character per value, the last `width` values, lowest to highest of them spread over eight heights; equal values are drawn low.
 * Values that are not finite leave a gap.
 */
export function sparkline(values: readonly number[], width: number): string {
  const shown = width > 0 ? values.slice(-width) : [];
  const finite = shown.filter((value) => Number.isFinite(value));
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low;
  return shown
    .map((value) => {
      if (!Number.isFinite(value)) return " ";
      const level = span > 0 ? Math.round(((value - low) / span) * (LEVELS.length - 1)) : 0;
      return LEVELS.charAt(level);
    })
    .join("");
}

/** At most `width` values that represent all of them: means of equal parts, in order, over the finite values. */
export function condensed(values: readonly number[], width: number): number[] {
  if (values.length <= width) return [...values];
  return Array.from({ length: width }, (_, i) => {
    const part = values.slice(Math.floor((i * values.length) / width), Math.floor(((i + 1) * values.length) / width));
    const finite = part.filter((value) => Number.isFinite(value));
    return finite.reduce((sum, value) => sum + value, 0) / finite.length;
  });
}

/** A bar of exactly `width` characters, filled to `fraction` (clamped to 0..1) in steps of an eighth of a character. */
export function bar(fraction: number, width: number): string {
  const clamped = Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0));
  const eighths = Math.round(clamped * width * 8);
  const filled = "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
  return filled + "░".repeat(width - filled.length);
}
