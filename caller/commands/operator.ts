import { text as readStream } from 'node:stream/consumers';
import type { Command } from 'commander';
import { ROWS } from '@portcullis/client/operation-row.ts';
import { connect } from '../connect.ts';
import { usageError } from '../exit.ts';
import { describePlace } from '@portcullis/core/json-place.ts';
import { type CallOptions, withCallOptions } from '../options.ts';
import { readText } from '../read-text.ts';
import { printJson, printTable, warn } from '../output.ts';

interface OperatorOptions extends CallOptions {
  readonly body?: string;
  readonly once?: string;
}

/** Every operation of the operator's API by its name: for installers and billing systems, which know what they call. */
export function addOperator(program: Command): void {
  withCallOptions(
    program
      .command('operator')
      .description("call an operation of the operator's API, with a key of the operator")
      .argument('[operation]', 'its name; without one they are listed')
      .argument('[parameters...]', 'NAME=VALUE, of the path or the query'),
  )
    .option('--body <file>', 'the JSON of the request; - is standard input')
    .option('--once <name>', 'names the request: the same name again makes nothing twice')
    .addHelpText(
      'after',
      `
The key is made by "portcullis keys create --operator", and given by PORTCULLIS_API_KEY or "portcullis login".
Answers are JSON, with or without --json: {"data": ...}. The operations are described at /docs of the control plane.

  portcullis operator                                        every operation, with its parameters
  portcullis operator listOrganisations external_id=whmcs-17
  echo '{"name": "Acme"}' | portcullis operator saveOrganisation slug=acme --body -
  portcullis operator createServer --body server.json --once order-4711
  portcullis operator suspendServer uuid=6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11`,
    )
    .action(callOperator);
}

async function callOperator(
  name: string | undefined,
  parameters: readonly string[],
  options: OperatorOptions,
): Promise<void> {
  const rows = [...ROWS].filter(([, { version }]) => version === 'operator');
  if (name === undefined)
    return list(
      rows.map(([id, row]) => [id, row.method, row.path]),
      options,
    );
  const [, row] = rows.find(([id]) => id === name) ?? [];
  if (row === undefined) {
    throw usageError(`there is no operation ${name}: "portcullis operator" lists them`);
  }
  const given = Object.fromEntries(parameters.map(parameterOf));
  const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, param = '']) => param);
  const missing = inPath.filter((param) => given[param] === undefined);
  if (missing.length > 0) {
    throw usageError(`${name} needs ${missing.map((param) => `${param}=...`).join(' ')}`);
  }
  const query = Object.entries(given).filter(([param]) => !inPath.includes(param));
  const body = options.body === undefined ? {} : { body: await readBody(options.body) };
  const call = Reflect.get(connect(options), name) as (
    input: object,
    how: object,
  ) => Promise<OperatorAnswer>;
  const input = { ...given, ...body, query: Object.fromEntries(query) };
  const answer = await call(input, { ...(options.once && { idempotencyKey: options.once }) });
  const { data, made, meta, message } = answer;
  if (message !== undefined && options.json !== true && options.quiet !== true) warn(message);
  printJson(data, {
    ...(made !== undefined && { made }),
    ...(meta !== undefined && { meta }),
    ...(message !== undefined && { message }),
  });
}

interface OperatorAnswer {
  readonly data: unknown;
  /** The created object, where it has an id of its own. */
  readonly made?: object;
  readonly meta?: object;
  readonly message?: string;
}

async function list(
  rows: readonly (readonly [string, string, string])[],
  { json }: OperatorOptions,
): Promise<void> {
  if (json === true)
    printJson(rows.map(([operation, method, path]) => ({ operation, method, path })));
  else await printTable(['OPERATION', 'METHOD', 'PATH'], rows);
}

function parameterOf(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`${text} is no NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

async function readBody(file: string): Promise<unknown> {
  const text = file === '-' ? await readStream(process.stdin) : readText(file);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const name = file === '-' ? 'standard input' : file;
    throw usageError(`${name} is no JSON${describePlace(text, error)}`);
  }
}
