import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';

/** The start of the line in the package's module that holds the browser script as a string literal. */
const LITERAL = 'var standalone_default = ';

/**
 * The browser script of @scalar/fastify-api-reference, which is inside its module. Importing the module costs 250 ms
 * and 40 MB for unneeded parsers; reading the literal costs 20 ms. The version is pinned, and a test fails if the
 * position changes.
 */
export function readScalarBundle(): string {
  const path = fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference'));
  const text = readFileSync(path, 'utf8');
  const begin = text.indexOf(LITERAL);
  const end = text.indexOf('\n', begin);
  if (begin === -1) throw new Error(`${path} does not hold the reference page's script`);
  const script: unknown = runInNewContext(text.slice(begin + LITERAL.length, end));
  if (typeof script !== 'string') throw new Error(`${path} holds no script where one was expected`);
  // The source map is not shipped.
  return script.replace(/\n\/\/# sourceMappingURL=\S*\s*$/, '\n');
}
