import { readFileSync } from 'node:fs';

/** The cases of a vector file of `core/net/vectors`: one per line, without comments and empty lines. */
export function readVectors(name: string): string[] {
  const text = readFileSync(new URL(`../vectors/${name}.txt`, import.meta.url), 'utf8');
  const cases = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  if (cases.length === 0) throw new Error(`${name} holds no case`);
  return cases;
}

/** A line that starts with a JSON string, because hostile input has invisible characters. */
export function splitQuoted(line: string): { input: string; rest: string } {
  const match = /^("(?:[^"\\]|\\.)*") (.+)$/.exec(line);
  if (match === null) throw new Error(`not a vector: ${line}`);
  return { input: JSON.parse(match[1] as string) as string, rest: match[2] as string };
}
