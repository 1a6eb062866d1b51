/** Python programs for sandboxes: how they are run by a command, and how values get into them. */

/** A command that runs a Python program. The program has no line `END`. */
export function pythonCommand(program: string): string {
  return `python3 - <<'END'\n${program.trim()}\nEND`;
}

/** A value as a Python expression. */
export function literal(value: unknown): string {
  return `__import__("json").loads(${JSON.stringify(JSON.stringify(value))})`;
}
