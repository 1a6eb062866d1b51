/**
 * Takes secrets out of the arguments of this process that other users of the machine see (`ps`, `/proc/<pid>/cmdline`). They were to be seen until now, and
 * those of a process that started this one, such as npx or a shell, stay.
 */
export function hideArguments(secrets: readonly string[]): void {
  const words = [process.argv0, ...process.execArgv, ...process.argv.slice(1)];
  const hidden = (word: string): string => secrets.reduce((text, secret) => text.replaceAll(secret, "***"), word);
  // Node writes the title over the arguments.
  process.title = words.map(hidden).join(" ");
}
