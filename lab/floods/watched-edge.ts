import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { CONFIG_VARIABLE } from '@portcullis/edge/config.ts';
import { serveIpc } from '@portcullis/link/transport/ipc.ts';
import type { AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { within } from '../bench/within.ts';
import { mountBpffs, unmountBpffs } from '../kernel/bpffs.ts';
import type { Namespace } from '../stack/netns.ts';

const EDGE_MAIN = join(import.meta.dirname, '..', '..', 'edge', 'main.ts');
const READY_MS = 30_000;
const END_MS = 20_000;

export interface WatchedEdgeOptions {
  readonly device: string;
  readonly scopes: readonly WatchScope[];
  /** Each as it comes from the edge. */
  readonly onSample: (sample: Sample) => void;
}

/** The process of an edge, with all that it keeps in a folder in which a bpffs is mounted. */
export function spawnEdge(
  where: Namespace,
  {
    folder,
    ...given
  }: Record<'name' | 'linkPath' | 'folder', string> & { readonly credential?: string },
): ChildProcess {
  const config = { ...given, stateDir: join(folder, 'edge'), mode: 'enforce' };
  // As on a host of its own: what other tests do at the same time is none of its business.
  return where.spawn(['nice', '--adjustment=-10', process.execPath, EDGE_MAIN], {
    env: {
      ...process.env,
      PORTCULLIS_LOG_LEVEL: 'warn',
      PORTCULLIS_BPFFS: join(folder, 'bpffs'),
      [CONFIG_VARIABLE]: JSON.stringify(config),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** The process of an edge as it is, with a control plane in this process that hears what it counts. */
export class WatchedEdge {
  readonly #folder: string;
  readonly #control: ControlSide;
  readonly #child: ChildProcess;

  private constructor(folder: string, control: ControlSide, child: ChildProcess) {
    this.#folder = folder;
    this.#control = control;
    this.#child = child;
  }

  /** Resolves when it counts. */
  static async start(where: Namespace, options: WatchedEdgeOptions): Promise<WatchedEdge> {
    const folder = mkdtempSync(join(tmpdir(), 'pcl-watched-'));
    chmodSync(folder, 0o711);
    mountBpffs(join(folder, 'bpffs'));
    const counts = Promise.withResolvers<void>();
    const linkPath = join(folder, 'control.sock');
    const control = await serveIpc({
      path: linkPath,
      handler: async (_, request) => {
        if (request.kind === 'watch.samples') {
          counts.resolve();
          for (const sample of request.samples) options.onSample(sample);
        }
        return answer(request, options);
      },
    });
    const child = spawnEdge(where, { name: 'lab', linkPath, folder });
    const edge = new WatchedEdge(folder, control, child);
    try {
      await within(READY_MS, 'the edge does not count', counts.promise);
    } catch (error) {
      await edge.stop();
      throw error;
    }
    return edge;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const gone = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await within(END_MS, 'the edge does not end', gone);
    }
    await this.#control.close();
    unmountBpffs(join(this.#folder, 'bpffs'));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Nothing is enforced; all that it gets is what to watch. */
function answer(request: AgentRequest, { device, scopes }: WatchedEdgeOptions): ControlReply {
  const settings = {
    name: 'lab',
    site: 'lab',
    devices: [device],
    management: [],
    sees: 'both',
    fragments: 'limit',
  } as const;
  if (request.kind === 'edge.hello') {
    return {
      kind: 'edge.welcome',
      protocolVersion: 1,
      generation: 1,
      settings,
      heartbeatMs: 15_000,
      resyncMs: 30_000,
    };
  }
  if (request.kind === 'edge.sync') {
    return {
      kind: 'edge.page',
      generation: 1,
      whole: true,
      policies: [],
      removed: [],
      sourceSets: request.sourceSetsVersion === '1' ? null : { version: '1', sets: {} },
      settings,
      next: null,
    };
  }
  if (request.kind === 'detection.getSettings') {
    const isHeld = request.version === 'w1';
    return { kind: 'watch.settings', version: 'w1', scopes: isHeld ? null : scopes, next: null };
  }
  return { kind: 'done' };
}
