import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';

/** How the package's one module begins the line that holds the browser's script as a string literal. */
const LITERAL = 'var standalone_default = ';

/**
 * The browser's part of @scalar/fastify-api-reference, which ships it inside its own module.
 * Importing that module costs 250 ms and 40 MB for good, mostly for parsers that nothing here needs;
 * reading the literal out of it costs 20 ms. The version is pinned, and a test fails when the place moves.
 */
export function readScalarBundle(): string {
  const path = fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference'));
  const text = readFileSync(path, 'utf8');
  const begin = text.indexOf(LITERAL);
  const end = text.indexOf('\n', begin);
  if (begin === -1) throw new Error(`${path} does not hold the reference page's script`);
  const script: unknown = runInNewContext(text.slice(begin + LITERAL.length, end));
  if (typeof script !== 'string') throw new Error(`${path} holds no script where one was expected`);
  // Debuggers would ask for a file that is not shipped.
  return script.replace(/\n\/\/# sourceMappingURL=\S*\s*$/, '\n');
}
