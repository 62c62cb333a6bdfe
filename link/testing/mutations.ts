import fc from 'fast-check';

/** One of these messages, with one value at any depth replaced by other JSON or removed. */
export function mutations(messages: readonly object[]): fc.Arbitrary<unknown> {
  const places = messages.flatMap((message) => pathsOf(message).map((path) => ({ message, path })));
  const replacement = fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, 0, -1, 1e300, '', []));
  return fc.tuple(fc.constantFrom(...places), replacement).map(([{ message, path }, value]) => {
    const copy = structuredClone(message);
    const parent = path.slice(0, -1).reduce<object>((at, key) => Reflect.get(at, key), copy);
    Reflect.set(parent, path.at(-1) ?? '', value);
    return JSON.parse(JSON.stringify(copy));
  });
}

function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) => [
    [key],
    ...pathsOf(field).map((path) => [key, ...path]),
  ]);
}
