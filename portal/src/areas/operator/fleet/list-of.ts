/** The items of a list as it is typed: separated by spaces, commas or line ends. */
export function listOf(typed: string): string[] {
  return typed.split(/[\s,]+/).filter((part) => part !== '');
}
