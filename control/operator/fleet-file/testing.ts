import { sql } from 'kysely';
import type { Actor } from '../../access/index.ts';
import type { Db } from '../../db/database.ts';
import { type AppliedFleet, applyFleet } from './apply/apply.ts';
import type { FleetFile } from './desired.ts';
import type { FoundEgg } from '../../game-servers/index.ts';
import { checkFleet, type FleetFileResult, parseFleet } from './parse/parse.ts';

/** Fixtures for tests of the fleet file and its effects. */

export const TEST_ACTOR: Actor = {
  kind: 'fleet',
  name: 'fleet.yaml',
  source: null,
  requestId: null,
};

export function mustParse(text: string, env: Readonly<Record<string, string>> = {}): FleetFile {
  const parsed = parseText(text, env);
  if (parsed.ok) return parsed.value;
  throw new Error(mistakesOf(parsed).join('\n'));
}

/** A minimal egg, for tests that do not inspect it. */
export const TEST_EGG: FoundEgg = {
  egg: {
    name: 'Test',
    description: '',
    images: [
      { label: 'first', reference: 'test:1', local: true },
      { label: 'second', reference: 'test:2', local: true },
    ],
    startup: 'run',
    launch: 'startup',
    done: [],
    stop: { kind: 'signal', signal: 'SIGTERM' },
    stopTimes: { termAfterMs: 60_000, killAfterMs: 10_000 },
    configFiles: [],
    install: null,
    variables: [
      {
        name: 'Slots',
        description: '',
        viewable: true,
        editable: true,
        env: 'SLOTS',
        defaultValue: '8',
        rules: ['required', 'integer', 'max:64'],
      },
      {
        name: 'Message',
        description: '',
        viewable: true,
        editable: true,
        env: 'MOTD',
        defaultValue: '',
        rules: ['nullable', 'string'],
      },
      {
        name: 'Password',
        description: '',
        viewable: false,
        editable: false,
        env: 'PASSWORD',
        defaultValue: '',
        rules: ['nullable', 'string'],
      },
    ],
    capabilities: [],
    protocols: ['tcp', 'udp'],
    filters: [],
    fileDenylist: [],
  },
  digest: 'a'.repeat(64),
  notes: [],
  icon: null,
  author: null,
};

/** Parses a file's text. Every egg that it names is the test egg. */
export function parseText(
  text: string,
  env: Readonly<Record<string, string>> = {},
  found: FoundEgg = TEST_EGG,
): FleetFileResult {
  const checked = checkFleet(text, 'fleet.yaml', env);
  if (!checked.ok) return checked;
  const eggs = new Map(checked.eggs.map((name) => [name, { ok: true, found } as const]));
  return parseFleet(checked, 'fleet.yaml', { eggs, compile: null });
}

/** `line:column message`. */
export function mistakesOf(result: FleetFileResult): string[] {
  return result.ok ? [] : result.mistakes.map((m) => `${m.line}:${m.column} ${m.message}`);
}

export async function applyText(db: Db, text: string, allowLosses = true): Promise<AppliedFleet> {
  return applyFleet(db, mustParse(text), { allowLosses, actor: TEST_ACTOR });
}

/** Inserts an own rule as a caller would create it, without the API. */
export async function insertOwnRule(
  db: Db,
  ip: string,
  rule: { action?: string; protocol?: string; port?: number | null; source?: string | null } = {},
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    with held as (
      select id from holdings where cidr >>= ${ip}::inet and during @> now()
       order by masklen(cidr) desc limit 1
    ), address as (
      insert into addresses (holding_id, ip, configured) select id, ${ip}, true from held
      on conflict (holding_id, ip) do update set configured = true returning id
    )
    insert into rules (address_id, action, protocol, source, port, created_generation)
    select id, ${rule.action ?? 'allow'}, ${rule.protocol ?? 'tcp'}, ${rule.source ?? null},
           ${rule.port ?? null}, 1 from address
    returning id
  `.execute(db);
  const created = rows[0];
  if (created === undefined) throw new Error(`no organisation holds ${ip}`);
  return created.id;
}
