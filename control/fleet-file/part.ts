import { Problem } from '../problem.ts';
import { MistakeList, type Position } from './mistakes.ts';
import { Scope } from './parse/scope.ts';
import { escapePointer } from './read/yaml-source.ts';

/**
 * Parses a part of a fleet that came in a request, by the rules of the file. Throws 422 with every mistake at its place in
 * the body. Null stands for refused, as in the parsers.
 */
export function parsePart<T>(body: unknown, parse: (scope: Scope) => T | null): T {
  const pointers: string[] = [];
  const positions = new Map<string, Position>();
  const walk = (value: unknown, pointer: string): void => {
    pointers.push(pointer);
    positions.set(pointer, { line: pointers.length, column: 1 });
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      walk(member, `${pointer}/${escapePointer(name)}`);
    }
  };
  walk(body, '');
  const mistakes = new MistakeList('');
  const found = parse(new Scope({ value: body, positions, keyPositions: positions }, mistakes));
  if (mistakes.empty && found !== null) return found;
  const errors = mistakes.list().map(({ line, message }) => ({
    pointer: pointers[line - 1] ?? '',
    detail: message,
  }));
  throw new Problem('invalid_request', errors.map(({ detail }) => detail).join(' '), { errors });
}
