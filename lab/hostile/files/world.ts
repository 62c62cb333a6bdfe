import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { dataOf, type TestClient } from '@portcullis/control/testing/client.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { TestFiles } from '@portcullis/node/files/testing/files.ts';

const PATIENT_MS = 30_000;

export const FILES = `/api/x1/game-servers/${uuidOf(1)}/files`;

export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly bytes: number;
  readonly total_bytes: number | null;
  readonly notes: readonly string[];
}

export interface FilesWorld extends TestEnvironment {
  readonly files: TestFiles;
  /** A key with the ability of files. */
  readonly key: TestClient;
  /** Resolves when no job runs, with the newest. */
  ended(): Promise<Job>;
}

/** The API, the link, and the real gate in front of the files of a server. */
export async function startFiles(t: TestContext): Promise<FilesWorld> {
  // What a node does at length is answered when it is done, on a busy machine too.
  const env = await startEnvironment(t, {
    nodeTimeouts: { readMs: PATIENT_MS, instructMs: PATIENT_MS },
    deadlineMs: 2 * PATIENT_MS,
  });
  const node = await new TestNode(env.nodes, 'node-1', await addNode(env.db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(env.db, { number: 1 });
  const files = new TestFiles(t);
  node.link.onCall(async (call) => (call.kind === 'node.files' ? files.service.run(call) : null));
  const key = await env.client({ abilities: ['game-servers.files'] });
  const ended = async (): Promise<Job> => {
    for (;;) {
      const jobs = dataOf<Job[]>(await key.get(`${FILES}/jobs`));
      const [newest] = jobs;
      if (newest !== undefined && jobs.every(({ state }) => state !== 'running')) return newest;
      await delay(20);
    }
  };
  return { ...env, files, key, ended };
}

/** A server that pulls may or may not reach. Returns its port. */
export async function serve(
  t: TestContext,
  listener: RequestListener,
  host = '127.0.0.1',
): Promise<number> {
  const server = createServer(listener);
  server.listen(0, host);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The network of the server that stands for the internet. */
export const INTERNET = ['127.0.0.1/32'].flatMap((text) => {
  const network = parseCidr(text);
  return network.ok ? [network.value] : [];
});
