/** The first of `node-1`, `node-2` and so on that no host has. */
export function freeName(beginning: string, taken: readonly string[]): string {
  for (let number = 1; ; number += 1) {
    const name = `${beginning}${number}`;
    if (!taken.includes(name)) return name;
  }
}
