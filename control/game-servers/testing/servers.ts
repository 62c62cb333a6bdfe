import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { Actor } from '../../access/index.ts';
import type { Db } from '../../db/database.ts';
import { enrolAgent } from '../../agent-credential.ts';

const ACTOR: Actor = { kind: 'system', name: 'test', source: null, requestId: null };
const DIGEST = 'a'.repeat(64);
const EGG: Egg = {
  name: 'Test',
  description: '',
  images: [{ label: 'local', reference: 'test', local: true }],
  startup: 'run',
  launch: 'startup',
  done: [],
  stop: { kind: 'signal', signal: 'SIGTERM' },
  stopTimes: { termAfterMs: 60_000, killAfterMs: 10_000 },
  configFiles: [],
  install: null,
  variables: [],
  capabilities: [],
  protocols: ['tcp', 'udp'],
  filters: [],
  fileDenylist: [],
};

/** Numbered uuids for readable tests. */
export function uuidOf(number: number): string {
  return `6f1c2f1e-6b3a-4b0e-9a55-${String(number).padStart(12, '0')}`;
}

/** Enrols a node and returns its credential. */
export async function addNode(db: Db, name: string): Promise<string> {
  await sql`insert into nodes (name, owner) values (${name}, 'fleet')`.execute(db);
  const credential = await db
    .transaction()
    .execute((tx) => enrolAgent(tx, { kind: 'node', name }, ACTOR));
  if (credential === null) throw new Error('the node is not there');
  return credential;
}

export interface TestServer {
  readonly number: number;
  readonly name?: string;
  readonly node?: string;
  readonly built?: boolean;
  /** The service: by default service 501; another service implies its organisation. */
  readonly service?: number;
  /** Default: one without variables. */
  readonly egg?: Egg;
  readonly owner?: 'fleet' | 'portal';
}

/** Creates a server on port 20,000 plus its number; returns its uuid. */
export async function addServer(db: Db, server: TestServer): Promise<string> {
  const {
    number,
    name = `server ${number}`,
    node = 'node-1',
    built = true,
    service = 501,
    egg = EGG,
    owner = 'fleet',
  } = server;
  const document = JSON.stringify(egg);
  const digest = egg === EGG ? DIGEST : hash('sha256', document, 'hex');
  await sql`insert into eggs (digest, egg) values (${digest}, ${document}::jsonb) on conflict do nothing`.execute(
    db,
  );
  const uuid = uuidOf(number);
  await sql`
    insert into game_servers (uuid, organisation_id, service_id, node_id, name, egg_digest, egg_name,
      memory_mib, cpu_percent, disk_mib, ip, port, build_state, identifier, owner)
    select ${uuid}, services.organisation_id, services.id, nodes.id, ${name}, ${digest}, 'eggs/test.json',
           1024, 200, 2048, '198.51.100.10', ${20_000 + number}, ${built ? 'built' : 'waiting'},
           ${built ? uuid.slice(0, 8) : null}, ${owner}
      from services, nodes where services.id = ${service} and nodes.name = ${node}`.execute(db);
  return uuid;
}
