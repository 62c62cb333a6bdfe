import type { KeyView } from '@portcullis/control/access/index.ts';
import type { Command } from 'commander';
import { operator, withDatabase, withTransaction } from '../database.ts';
import { failed, usageError } from '@portcullis/caller/exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { findOrganisationId } from '../organisations.ts';
import { print, printJson, printTable, warn } from '@portcullis/caller/output.ts';

interface ListOptions extends DatabaseOptions {
  readonly organisation?: string;
}
interface CreateOptions extends DatabaseOptions {
  readonly organisation?: string;
  readonly operator?: boolean;
  readonly name: string;
  readonly ability: readonly string[];
  readonly server?: readonly string[];
  readonly manageServer?: readonly string[];
  readonly prefix?: readonly string[];
  readonly source?: readonly string[];
  readonly expires?: string;
}

const importAccess = () => import('@portcullis/control/access/index.ts');

export function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('API keys of organisations')
    .addHelpText(
      'after',
      `
  portcullis keys generate                       a well-formed key for a fleet file; stores nothing
  portcullis keys create --organisation acme --name ci --ability firewall.read firewall.manage
  portcullis keys create --operator --name whmcs --ability operator.read operator.manage --source 192.0.2.10
  portcullis keys list
  portcullis keys revoke 17`,
    );
  keys
    .command('generate')
    .description('print a new key, for a fleet file; stores nothing')
    .option('--json', 'as JSON')
    .action(generateKey);
  withDatabaseOptions(keys.command('create').description('create a key and print it, only once'))
    .option('--organisation <slug>', 'the organisation that the key belongs to')
    .option('--operator', 'a key of the operator, for /api/operator: of no organisation')
    .requiredOption('--name <name>', 'what it is for')
    .requiredOption('--ability <ability...>', 'what it may do, such as firewall.read')
    .option('--server <uuid...>', 'game servers that it sees (default: all)')
    .option(
      '--manage-server <uuid...>',
      'of those, servers that it may control (default: all of them)',
    )
    .option('--prefix <cidr...>', 'addresses that it may change (default: all of the organisation)')
    .option('--source <cidr...>', 'addresses that it may be used from (default: any)')
    .option('--expires <time>', 'an ISO 8601 time with an offset, such as 2027-01-01T00:00:00Z')
    .action(createKeyCommand);
  withDatabaseOptions(keys.command('list').description('keys, without their secrets'))
    .option('--organisation <slug>', 'of this organisation only')
    .action(listKeysCommand);
  withDatabaseOptions(
    keys.command('revoke').description('revoke a key for good').argument('<id>', 'its number'),
  ).action(revokeKeyCommand);
}

async function generateKey(options: DatabaseOptions): Promise<void> {
  const key = (await importAccess()).generateSecret();
  if (options.json === true) printJson({ key });
  else print(key);
}

async function createKeyCommand(options: CreateOptions): Promise<void> {
  const expiresAt = parseExpiry(options.expires);
  const { organisation } = options;
  if ((organisation === undefined) !== (options.operator === true)) {
    throw usageError('a key is either of an --organisation or of the --operator: say which');
  }
  const { createKey } = await importAccess();
  const created = await withTransaction(options, async (tx, actor) => {
    const organisationId =
      organisation === undefined ? null : await findOrganisationId(tx, organisation);
    const key = {
      organisationId,
      name: options.name,
      abilities: options.ability,
      servers: options.server ?? null,
      managedServers: options.manageServer ?? null,
      prefixes: options.prefix ?? null,
      sources: options.source ?? null,
      expiresAt,
      owner: 'portal' as const,
    };
    return explainRefusal(() => createKey(tx, key, actor));
  });
  if (options.json === true) {
    printJson({ id: created.id, name: created.name, key: created.secret });
    return;
  }
  print(created.secret);
  warn('This key is not shown again.');
}

async function listKeysCommand(options: ListOptions): Promise<void> {
  const { listKeys, listOrganisations } = await importAccess();
  const keys = await withDatabase(options, async (db) => {
    const slug = options.organisation;
    if (slug !== undefined) await findOrganisationId(db, slug);
    const organisations = await listOrganisations(db);
    const wanted = organisations.filter((one) => slug === undefined || one.slug === slug);
    const lists = await Promise.all(
      wanted.map(async (one) => (await listKeys(db, one.id)).map((key) => toView(one.slug, key))),
    );
    const own = slug === undefined ? await listKeys(db, null) : [];
    return [...lists.flat(), ...own.map((key) => toView(null, key))];
  });
  if (options.json === true) {
    printJson(keys);
    return;
  }
  if (keys.length === 0) print('No keys.');
  else {
    const rows = keys.map((key) => [
      String(key.id),
      key.organisation ?? '(operator)',
      key.name,
      `${key.hint}...`,
      key.abilities.join(' '),
      stateOf(key),
      key.last_used_at ?? 'never',
    ]);
    await printTable(
      ['ID', 'ORGANISATION', 'NAME', 'KEY', 'ABILITIES', 'STATE', 'LAST USED'],
      rows,
    );
  }
}

async function revokeKeyCommand(id: string, options: DatabaseOptions): Promise<void> {
  const keyId = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : null;
  if (keyId === null)
    throw usageError(`${id} is not the number of a key: portcullis keys list shows them`);
  const { revokeKey, waitForWrites } = await importAccess();
  const { revokedAt } = await withDatabase(options, async (db) => {
    const revoked = await db.transaction().execute(async (tx) => {
      const { voidTokens } = await import('@portcullis/control/agent-credential.ts');
      await voidTokens(tx, { keyId }, operator());
      return explainRefusal(() => revokeKey(tx, keyId, operator()));
    });
    await waitForWrites(db, [keyId]);
    return revoked;
  });
  const revoked_at = revokedAt.toISOString();
  if (options.json === true) printJson({ id: keyId, revoked_at });
  else print(`Key ${keyId} is revoked since ${revoked_at}.`);
}

type ListedKey = ReturnType<typeof toView>;

/** `organisation`: null for a key of the operator. */
function toView(organisation: string | null, key: KeyView) {
  const { id, name, hint, abilities, owner } = key;
  return {
    id,
    organisation,
    name,
    hint,
    abilities,
    owner,
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    suspended_at: key.suspendedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}

function stateOf(key: ListedKey): string {
  if (key.revoked_at !== null) return 'revoked';
  if (key.suspended_at !== null) return 'suspended';
  if (key.expires_at === null) return 'active';
  return Date.parse(key.expires_at) > Date.now() ? `until ${key.expires_at}` : 'expired';
}

function parseExpiry(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const withOffset = /T.*(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const at = new Date(text);
  if (withOffset && !Number.isNaN(at.getTime())) return at;
  throw usageError(`--expires ${text} is not a time with an offset such as 2027-01-01T00:00:00Z`);
}

/** Reports a problem with all of its reasons. */
async function explainRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { Problem } = await import('@portcullis/control/problem.ts');
    if (!(error instanceof Problem)) throw error;
    const reasons = (error.errors ?? []).map((one) => {
      const place = 'pointer' in one ? one.pointer : one.parameter;
      return `${place}: ${one.detail}`;
    });
    throw failed([error.detail, ...reasons].join('\n'));
  }
}
