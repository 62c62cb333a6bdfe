import { join } from 'node:path';
import { admitAgent, enrolAgent } from '@portcullis/control/agent-credential.ts';
import {
  type KnownCollector,
  loadCollectorStatuses,
} from '@portcullis/control/attacks/collectors/index.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import { listen } from '@portcullis/control/db/listen.ts';
import { coalesce } from '@portcullis/link/coalesce.ts';
import { readCredential, saveCredential } from '../agents/credential-file.ts';
import { collectorProcess, type ProcessSpec } from '../agents/processes.ts';
import { operator } from '../database.ts';
import { warn } from '@portcullis/caller/output.ts';
import type { SupervisedProcess } from './supervised-process.ts';

export interface CollectorEnvironment {
  readonly databaseUrl: string;
  readonly linkPath: string;
  /** Folder for the credentials of the collectors that run here. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly supervise: (spec: ProcessSpec) => SupervisedProcess;
}

const RETRY_MS = 5_000;

/**
 * Runs a process for each collector of the fleet, and follows changes of the fleet. A collector that was enrolled with
 * `portcullis collectors enrol` is left to the holder of that credential.
 */
export function runCollectors(environment: CollectorEnvironment): { stop(): Promise<void> } {
  const { databaseUrl } = environment;
  const db = openDatabase({ url: databaseUrl, poolSize: 1, applicationName: 'portcullis up' });
  const running = new Map<string, SupervisedProcess>();
  const elsewhere = new Set<string>();
  let lastWarning = '';
  const reconciler = coalesce(async () => {
    try {
      await reconcile(db, environment, running, elsewhere);
      lastWarning = '';
      return null;
    } catch (error) {
      const reason = describe(error);
      if (lastWarning !== reason) warn(`cannot load the collectors of the fleet: ${reason}`);
      lastWarning = reason;
      return RETRY_MS;
    }
  });
  const listener = listen(databaseUrl, ['portcullis_collectors'], () => reconciler.poke());
  return {
    async stop() {
      await listener.stop();
      await reconciler.stop();
      await Promise.all([...running.values()].map((process) => process.stop()));
      await db.destroy();
    },
  };
}

async function reconcile(
  db: Db,
  environment: CollectorEnvironment,
  running: Map<string, SupervisedProcess>,
  elsewhere: Set<string>,
): Promise<void> {
  const credentials = new Map<string, string>();
  for (const collector of await loadCollectorStatuses(db)) {
    const credential = await credentialOf(db, collector, environment.folder);
    if (credential !== null) credentials.set(collector.name, credential);
    else if (!elsewhere.has(collector.name)) {
      elsewhere.add(collector.name);
      warn(`the collector ${collector.name} does not run here: it was enrolled elsewhere`);
    }
  }
  for (const [name, process] of running) {
    if (credentials.has(name)) continue;
    running.delete(name);
    await process.stop();
  }
  for (const [name, credential] of credentials) {
    if (running.has(name)) continue;
    elsewhere.delete(name);
    const { linkPath, env, supervise } = environment;
    const process = supervise(collectorProcess({ name, linkPath, credential }, env));
    running.set(name, process);
    process.start().catch((error: unknown) => {
      warn(`the collector ${name} did not start (${describe(error)})`);
    });
  }
}

/** The credential of a collector, which is enrolled here if it never was. Returns null if it was enrolled elsewhere. */
async function credentialOf(
  db: Db,
  { name, enrolledAt }: KnownCollector,
  folder: string,
): Promise<string | null> {
  const file = join(folder, name);
  const saved = readCredential(file);
  if (saved !== null && (await admitAgent(db, { kind: 'collector', name }, saved)).ok) return saved;
  if (enrolledAt !== null) return null;
  return db.transaction().execute(async (tx) => {
    const created = await enrolAgent(tx, { kind: 'collector', name }, operator());
    // Saved before the commit, so that control never expects a credential that was lost.
    if (created !== null) saveCredential(file, created);
    return created;
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
