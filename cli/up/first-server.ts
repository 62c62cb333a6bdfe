import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Batch } from '@portcullis/control/fleet/batch.ts';
import { libraryOf, SHIPPED_EGGS } from '@portcullis/control/operator/fleet-file/read/egg-files.ts';
import { saveDeclared } from '@portcullis/control/operator/index.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { EXAMPLE_EGG_NAME } from '../fleet-file.ts';
import { LOCAL_NAME } from '../options.ts';
import { createClient } from '@portcullis/client/client.ts';

/** The small server that the first start creates, so that every operation has a running server to work on. */
export interface FirstServer {
  readonly uuid: string;
  readonly name: string;
  /** Where players reach it. */
  readonly ip: string;
  readonly port: number;
}

const NAME = 'Hearth';
const PREFERRED_PORT = 4_000;
/** The address of a host without an address that others reach. */
const LOOPBACK = '127.0.0.1';
/** For a build of a few files and the start of a small program on a loaded machine. */
const START_TIMEOUT_MS = 30_000;
const POLL_MS = 200;
const LIMITS = { memory: 256, cpu: 100, disk: 512 };

interface Wanted {
  readonly organisation: string;
  readonly service: number;
  readonly ip: string | null;
}

export async function createFirstServer(
  batch: Batch,
  { organisation, service, ip: address }: Wanted,
): Promise<FirstServer> {
  const ip = address ?? LOOPBACK;
  await saveDeclared(batch, 'node', { name: LOCAL_NAME, addresses: [ip] });
  const given = {
    uuid: randomUUID(),
    organisation,
    service,
    name: NAME,
    node: LOCAL_NAME,
    egg: EXAMPLE_EGG_NAME,
    limits: LIMITS,
    allocation: { ip, port: await freePort(ip) },
    open_while_running: true,
  };
  await saveDeclared(batch, 'server', given, { library: libraryOf(SHIPPED_EGGS) });
  return { uuid: given.uuid, name: NAME, ...given.allocation };
}

/** A port that is free now. If another program takes it before the server does, the server reports that. */
async function freePort(ip: string): Promise<number> {
  for (const wanted of [PREFERRED_PORT, 0]) {
    const probe = createServer();
    try {
      probe.listen(wanted, ip);
      await once(probe, 'listening');
      return (probe.address() as AddressInfo).port;
    } catch {
      // The port is taken: 0 selects any free one.
    } finally {
      probe.close();
    }
  }
  return PREFERRED_PORT;
}

/** Starts the server once its node has built it. Returns null when it runs, else the reason why not. */
export async function startFirstServer(
  api: { readonly url: string; readonly key: string },
  uuid: string,
  signal: AbortSignal,
): Promise<string | null> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let isStarted = false;
  let problem = 'it was not built in time';
  const client = createClient({ baseUrl: api.url, key: api.key });
  try {
    while (performance.now() < deadline && !signal.aborted) {
      const { provisioned, state } = (await client.readGameServer({ slice: uuid })).data;
      if (provisioned && !isStarted) {
        await client.sendPowerSignal({ slice: uuid, body: { signal: 'start' } });
        isStarted = true;
        continue;
      }
      if (state === 'running') return null;
      if (provisioned) problem = `its state is ${state ?? 'unknown'}`;
      else {
        const { data: build } = await client.readGameServerBuild({ slice: uuid });
        if (build.state === 'failed') return build.reason ?? 'building it failed';
      }
      await delay(POLL_MS);
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return problem;
}
