import { setTimeout as delay } from 'node:timers/promises';
import { instruct, loadBuild, loadDetail } from '../commands/server-api.ts';

/** A build of a few files and a start of a small program; a busy machine may take its time. */
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 200;

/** Starts the server of a first start once its node has built it. Null when it runs, else why it does not. */
export async function startFirstServer(
  api: { readonly url: string; readonly key: string },
  uuid: string,
  isStopping: () => boolean,
): Promise<string | null> {
  const deadline = performance.now() + PATIENCE_MS;
  let started = false;
  let last = 'it was not built in time';
  try {
    while (performance.now() < deadline && !isStopping()) {
      const { provisioned, state } = await loadDetail(api, uuid);
      if (provisioned && !started) {
        await instruct(api, uuid, { signal: 'start' });
        started = true;
        continue;
      }
      if (state === 'running') return null;
      if (provisioned) last = `it is ${state ?? 'not known to be anything'}`;
      else {
        const build = await loadBuild(api, uuid);
        if (build.state === 'failed') return build.reason ?? 'building it failed';
      }
      await delay(LOOK_EVERY_MS);
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return last;
}
