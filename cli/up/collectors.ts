import { join } from 'node:path';
import {
  admitCollector,
  enrolCollector,
  type KnownCollector,
  loadCollectorStatuses,
} from '@portcullis/control/collectors/index.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import { listen } from '@portcullis/control/db/listen.ts';
import { coalesce } from '@portcullis/agent/coalesce.ts';
import { readCredential, saveCredential } from '../node-credential.ts';
import { warn } from '../output.ts';
import { collectorProcess } from './collector-launch.ts';
import { operator } from './first-start.ts';
import type { ChildSpec, Supervised } from './supervised.ts';

export interface CollectorsOfFleet {
  /** Ends them all. */
  stop(): Promise<void>;
}

export interface CollectorGround {
  readonly databaseUrl: string;
  readonly linkPath: string;
  /** Where the credentials of collectors that run here are kept. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly supervise: (spec: ChildSpec) => Supervised;
}

const RETRY_MS = 5_000;

/**
 * Runs a process for each collector of the fleet that nobody runs elsewhere, also for those that the fleet names
 * later. Who enrols one by hand runs it: its credential is not ours.
 */
export function runCollectors(ground: CollectorGround): CollectorsOfFleet {
  const { databaseUrl } = ground;
  const db = openDatabase({ url: databaseUrl, poolSize: 1, applicationName: 'portcullis up' });
  const running = new Map<string, Supervised>();
  const elsewhere = new Set<string>();
  let said = '';
  const looking = coalesce(async () => {
    try {
      await reconcile(db, ground, running, elsewhere);
      said = '';
      return null;
    } catch (error) {
      const why = describe(error);
      if (said !== why) warn(`which collectors are to run is not known: ${why}`);
      said = why;
      return RETRY_MS;
    }
  });
  const listener = listen(databaseUrl, ['portcullis_collectors'], () => looking.poke());
  return {
    async stop() {
      await listener.stop();
      await looking.stop();
      await Promise.all([...running.values()].map((process) => process.stop()));
      await db.destroy();
    },
  };
}

async function reconcile(
  db: Db,
  ground: CollectorGround,
  running: Map<string, Supervised>,
  elsewhere: Set<string>,
): Promise<void> {
  const ours = new Map<string, string>();
  for (const collector of await loadCollectorStatuses(db)) {
    const credential = await credentialOf(db, collector, ground.folder);
    if (credential !== null) ours.set(collector.name, credential);
    else if (!elsewhere.has(collector.name)) {
      elsewhere.add(collector.name);
      warn(`the collector ${collector.name} is not run here: somebody else has its credential`);
    }
  }
  for (const [name, process] of running) {
    if (ours.has(name)) continue;
    running.delete(name);
    await process.stop();
  }
  for (const [name, credential] of ours) {
    if (running.has(name)) continue;
    elsewhere.delete(name);
    const { linkPath, env, supervise } = ground;
    const process = supervise(collectorProcess({ name, linkPath, credential }, env));
    running.set(name, process);
    process.start().catch((error: unknown) => {
      warn(`the collector ${name} did not start (${describe(error)})`);
    });
  }
}

/** What it is let in by; one that was never enrolled is enrolled here. Null: somebody enrolled it elsewhere. */
async function credentialOf(
  db: Db,
  { name, enrolledAt }: KnownCollector,
  folder: string,
): Promise<string | null> {
  const file = join(folder, name);
  const held = readCredential(file);
  if (held !== null && (await admitCollector(db, name, held)).ok) return held;
  if (enrolledAt !== null) return null;
  return db.transaction().execute(async (tx) => {
    const fresh = await enrolCollector(tx, name, operator());
    // Before the commit: what control knows it by is never lost.
    if (fresh !== null) saveCredential(file, fresh);
    return fresh;
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
