/** The first of `node-1`, `node-2` and so on that no host has. */
export function freeName(beginning: string, taken: readonly string[]): string {
  for (let number = 1; ; number += 1) {
    const name = `${beginning}${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** Whether a name as it is typed is that of a host that there is. */
export function isTaken(typed: string, taken: readonly string[]): boolean {
  return taken.includes(typed.trim());
}
