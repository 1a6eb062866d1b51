/** Prints texts from run directories on a terminal. */

/** Names of folders and messages of programs, without control characters that a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, "\ufffd");
}

/** A line of a log, in which tabs stay: models and programs write into logs. */
export function printableLine(line: string): string {
  return line.replaceAll(/(?!\t)\p{Cc}/gu, "\ufffd");
}

/** Seconds since 1970 as local time, `2026-03-01 14:05`. */
export function timeText(seconds: number): string {
  const time = new Date(seconds * 1000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
